//! The interpreter of a conversation, and the order of its users.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::interpreter::{Cell, CellEnd, Interpreter};
use super::{PythonLimits, Sandbox};
use crate::kinds::process::{CollectedOutput, RunError};

/// The interpreter of a conversation. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Notebook {
    state: Arc<Mutex<State>>,
    over: CancellationToken,
    _guard: DropGuard,
}

#[derive(Debug)]
struct State {
    interpreter: Option<Interpreter>,
    /// Whether the model believes in variables that are gone.
    is_loss_untold: bool,
}

impl Notebook {
    pub(super) fn new(is_loss_untold: bool) -> Self {
        let state = Arc::new(Mutex::new(State { interpreter: None, is_loss_untold }));
        let over = CancellationToken::new();
        Self { state, over: over.clone(), _guard: over.drop_guard() }
    }

    /// Waits until no other cell runs.
    pub(super) async fn turn(&self) -> Turn {
        let state = self.state.clone().lock_owned().await;
        Turn { state: Some(state), cell: None, over: self.over.clone() }
    }
}

/// What one call does with the interpreter. If it is dropped while its cell runs, the cell is
/// interrupted, and the next turn waits for that.
pub(super) struct Turn {
    /// Until this is dropped.
    state: Option<OwnedMutexGuard<State>>,
    /// The cell that runs.
    cell: Option<Cell>,
    over: CancellationToken,
}

impl Turn {
    /// Runs a cell until it ends. If it does not, it goes on until it is
    /// [interrupted](Self::interrupt).
    pub(super) async fn run(
        &mut self,
        sandbox: &Sandbox,
        limits: &PythonLimits,
        source: &str,
        kept: &mut CollectedOutput,
    ) -> Result<CellEnd, RunError> {
        let state = self.state.as_mut().expect("it is there until this is dropped");
        if state.interpreter.as_mut().is_some_and(Interpreter::is_gone) {
            state.interpreter = None;
            state.is_loss_untold = true;
        }
        let started = match state.interpreter.take() {
            Some(interpreter) => interpreter,
            None => Interpreter::start(sandbox, limits).map_err(RunError::Start)?,
        };
        let interpreter = state.interpreter.insert(started);
        let cell = self.cell.insert(Cell::new());
        let end = interpreter.run(cell, source, limits, kept).await?;
        self.cell = None;
        if matches!(end, CellEnd::Exit(_)) {
            state.interpreter = None;
        }
        Ok(end)
    }

    /// Interrupts the cell if it runs. Tells whether the interpreter is still there.
    pub(super) async fn interrupt(&mut self) -> bool {
        let state = self.state.as_mut().expect("it is there until this is dropped");
        match self.cell.take() {
            Some(cell) => state.interrupt(cell).await,
            None => state.interpreter.is_some(),
        }
    }

    /// Whether the model is to be told that variables of earlier calls are gone. It counts as told
    /// from here on.
    pub(super) fn tell_loss(&mut self) -> bool {
        let state = self.state.as_mut().expect("it is there until this is dropped");
        std::mem::take(&mut state.is_loss_untold)
    }
}

impl State {
    async fn interrupt(&mut self, cell: Cell) -> bool {
        // If this is dropped halfway, the interpreter is gone.
        let was_untold = std::mem::replace(&mut self.is_loss_untold, true);
        let Some(mut interpreter) = self.interpreter.take() else { return false };
        let is_kept = interpreter.interrupt(cell).await;
        if is_kept {
            self.interpreter = Some(interpreter);
            self.is_loss_untold = was_untold;
        }
        is_kept
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (Some(mut state), Some(cell)) = (self.state.take(), self.cell.take()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            state.interpreter = None;
            state.is_loss_untold = true;
            return;
        };
        let over = self.over.clone();
        runtime.spawn(async move {
            tokio::select! {
                () = over.cancelled() => state.interpreter = None,
                _ = state.interrupt(cell) => {}
            }
        });
    }
}
