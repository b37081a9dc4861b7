//! The interpreter of a conversation, for one cell at a time.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::interpreter::{Cell, CellEnd, Interpreter};
use super::{PythonLimits, Sandbox};
use crate::kinds::process::{CollectedOutput, RunError};

/// The interpreter of a conversation. Dropping it ends the interpreter.
#[derive(Debug)]
pub(super) struct Notebook {
    state: Arc<Mutex<State>>,
    over: CancellationToken,
    _guard: DropGuard,
}

#[derive(Debug)]
struct State {
    interpreter: Option<Interpreter>,
    /// Whether variables were lost and the model does not know it yet.
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

/// The exclusive use of the interpreter by one call. If it is dropped while its cell runs, the cell
/// is interrupted, and the next turn waits for that.
pub(super) struct Turn {
    /// `None` only while this is dropped.
    state: Option<OwnedMutexGuard<State>>,
    /// The running cell.
    cell: Option<Cell>,
    over: CancellationToken,
}

impl Turn {
    /// Runs a cell until it ends. If this returns before the end of the cell, the cell continues
    /// until it is [interrupted](Self::interrupt).
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

    /// Interrupts the cell if it runs. Returns whether the interpreter still exists.
    pub(super) async fn interrupt(&mut self) -> bool {
        let state = self.state.as_mut().expect("it is there until this is dropped");
        match self.cell.take() {
            Some(cell) => state.interrupt(cell).await,
            None => state.interpreter.is_some(),
        }
    }

    /// Whether the model must be told that variables of earlier calls are lost. It counts as told
    /// after this.
    pub(super) fn tell_loss(&mut self) -> bool {
        let state = self.state.as_mut().expect("it is there until this is dropped");
        std::mem::take(&mut state.is_loss_untold)
    }
}

impl State {
    async fn interrupt(&mut self, cell: Cell) -> bool {
        // If this future is dropped before its end, the interpreter is lost.
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
