//! The loop itself.

use openchatml::{Event, Message, Settings};
use tokio_util::sync::CancellationToken;

use super::calls::{Calls, mark};
use super::desk::Fate;
use super::event::SessionEvent;
use super::hear::{Emit, Heard, Hearing};
use super::plan::{self, Next, Waiting};
use super::{Ended, Session, SessionError};
use crate::{Completion, Failure};

/// Why calls are cancelled.
const CANCELLED: &str = "the session was cancelled";

/// What the reply to a call says that began before a crash.
const INTERRUPTED: &str = "interrupted; may or may not have been done";

/// How a completion went.
struct Sampled {
    /// Whether anything of it is kept.
    is_kept: bool,
    has_calls: bool,
    heard: Heard,
    is_cancelled: bool,
}

impl Session {
    /// Makes the calls that have no reply, and asks the model to go on until it answers; both as
    /// long as `cancel` allows it. What happens is told to `emit`.
    ///
    /// It may be called again after it ended, for whatever reason: it goes on where it was.
    ///
    /// # Errors
    ///
    /// The upstream fails, or something cannot be written. What was done until then is kept.
    pub async fn run(
        &mut self,
        cancel: &CancellationToken,
        mut emit: impl FnMut(SessionEvent<'_>) + Send,
    ) -> Result<Ended, SessionError> {
        let emit: &mut Emit<'_> = &mut emit;
        let most = self.options.most_steps;
        let mut steps = 0;
        if !matches!(plan::next(&self.conversation), Next::Answer(_)) {
            // What was noted before a crash is in the transcript.
            self.forget().await?;
        }
        loop {
            if cancel.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            match plan::next(&self.conversation) {
                Next::Answer(waiting) => self.answer(&waiting, cancel, emit).await?,
                Next::Done if self.model.is_some() => return Ok(Ended::Answered),
                Next::Sample if self.model.is_some() => {
                    if steps == most {
                        return Ok(Ended::Steps);
                    }
                    steps += 1;
                    emit(SessionEvent::Step { number: steps, most });
                    let sampled = self.sample(cancel, emit).await?;
                    let Sampled { is_kept, has_calls, heard, is_cancelled } = sampled;
                    match () {
                        () if is_cancelled => return Ok(Ended::Cancelled),
                        () if heard.is_cut && !has_calls => return Ok(Ended::CutOff),
                        () if !is_kept => return Ok(Ended::Nothing),
                        () => {}
                    }
                }
                Next::Sample | Next::Done => return Ok(Ended::Replied),
            }
        }
    }

    /// The calls of a turn that begins, in which the ids of these calls are free.
    fn turn(&self, waiting: &[Waiting]) -> Calls {
        let messages = &self.conversation.messages;
        let is_free =
            |id: &str| waiting.iter().any(|call| call.id == id && call.repeated.is_none());
        let taken = plan::named(messages).into_iter().map(|call| call.id);
        let turn = self.router.turn(taken.filter(|id| !is_free(id)));
        let header = self.conversation.header.as_ref();
        let settings = header.map(|header| Settings::read(header).0).unwrap_or_default();
        let model = self.model.as_ref().map(|model| model.format());
        let formats = std::iter::once(self.format).chain(model).collect();
        Calls::new(turn.with_settings(settings), self.desk.clone(), formats)
    }

    /// Makes calls that stand in the transcript.
    async fn answer(
        &mut self,
        waiting: &[Waiting],
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        let mut calls = self.turn(waiting);
        self.name(waiting);
        self.save().await?;
        self.dispatch(&mut calls, waiting, true).await;
        self.wait(&mut calls, cancel, emit).await?;
        self.reply(calls, emit).await
    }

    /// Gives calls their ids, where the format has any.
    fn name(&mut self, waiting: &[Waiting]) {
        if !self.format.carries().call_ids {
            return;
        }
        for call in waiting {
            if let Some(message) = self.conversation.messages.get_mut(call.at) {
                message.call_id = Some(call.id.clone().into());
            }
        }
    }

    /// Makes these calls, which may have been made before if they are `old`.
    async fn dispatch(&self, calls: &mut Calls, waiting: &[Waiting], old: bool) {
        // To write the transcript may have moved the messages, but not the calls.
        let named = plan::named(&self.conversation.messages);
        for call in waiting {
            let Some(now) = named.iter().find(|now| now.id == call.id) else { continue };
            let message = &self.conversation.messages[now.at];
            let fate = match &self.desk {
                Some(desk) if old => desk.fate(&call.id, mark(message)),
                _ => Fate::Fresh,
            };
            match fate {
                Fate::Fresh => calls.dispatch(call, message).await,
                Fate::Replied(reply) => calls.answer(&call.id, *reply),
                Fate::Begun => {
                    let reply = self.router.refusal(message, &Failure::new(INTERRUPTED));
                    calls.answer(&call.id, reply);
                }
            }
        }
    }

    /// Waits until all calls have their replies.
    async fn wait(
        &self,
        calls: &mut Calls,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        while calls.are_open() {
            let happening = tokio::select! {
                biased;
                () = cancel.cancelled(), if !calls.is_cancelled() => {
                    calls.cancel(CANCELLED);
                    continue;
                }
                happening = calls.next() => happening,
            };
            calls.take(happening, emit).await?;
        }
        Ok(())
    }

    /// Puts the replies to calls in the transcript.
    async fn reply(&mut self, calls: Calls, emit: &mut Emit<'_>) -> Result<(), SessionError> {
        let has_ids = self.format.carries().call_ids;
        for (id, mut reply) in calls.into_replies() {
            reply.call_id = has_ids.then(|| id.into());
            let index = self.told;
            self.told += 1;
            emit(SessionEvent::Replied(Event::MessageStart { index, message: &reply }));
            emit(SessionEvent::Replied(Event::MessageDone { index, message: &reply }));
            self.conversation.messages.push(reply);
        }
        self.save().await?;
        self.forget().await
    }

    /// Forgets the calls that have their replies in the transcript.
    async fn forget(&self) -> Result<(), SessionError> {
        match self.desk.clone() {
            Some(desk) => super::blocking(move || desk.clear()).await,
            None => Ok(()),
        }
    }

    /// Asks the model once, and makes the calls that it makes.
    async fn sample(
        &mut self,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<Sampled, SessionError> {
        // Taken out while it is asked, so that the transcript can grow meanwhile.
        let model = self.model.take().expect("there is a model");
        let before = self.conversation.messages.len();
        let mut hearing = Hearing::new(&model, &self.options.read, self.told);
        let mut calls = self.turn(&[]);
        let result = self.listen(&model, &mut hearing, &mut calls, cancel, emit).await;
        let is_cancelled = matches!(result, Ok(Heeded::Cancelled));
        let (rest, heard) = match is_cancelled {
            true => hearing.cancel(emit),
            false => hearing.finish(emit),
        };
        self.model = Some(model);
        self.told += heard.began;
        // A completion that broke is as good as one that was cut off: what is complete, is.
        let rest = if is_cancelled { Vec::new() } else { rest };
        self.said(rest, &mut calls).await?;
        if is_cancelled {
            calls.cancel(CANCELLED);
        }
        let has_calls = !calls.is_empty();
        let is_kept = self.conversation.messages.len() > before;
        self.wait(&mut calls, cancel, emit).await?;
        self.reply(calls, emit).await?;
        result?;
        let is_cancelled = is_cancelled || cancel.is_cancelled();
        Ok(Sampled { is_kept, has_calls, heard, is_cancelled })
    }

    /// Listens to a completion until it ends, or nothing that counts can come any more.
    async fn listen(
        &mut self,
        model: &super::Model,
        hearing: &mut Hearing<'_>,
        calls: &mut Calls,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<Heeded, SessionError> {
        let request = model.request(&self.conversation).map_err(SessionError::Prompt)?;
        let mut completion: Box<dyn Completion> = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Heeded::Cancelled),
            opened = model.upstream().sample(request) => opened?,
        };
        while !hearing.is_over() {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(Heeded::Cancelled),
                happening = calls.next(), if calls.are_open() => calls.take(happening, emit).await?,
                piece = completion.next() => match piece? {
                    None => break,
                    Some(piece) => {
                        let said = hearing.piece(piece, emit);
                        self.said(said, calls).await?;
                    }
                },
            }
        }
        Ok(Heeded::Ended)
    }

    /// Puts what the model said in the transcript, and makes the calls among it: not before the
    /// transcript has them.
    async fn said(
        &mut self,
        said: Vec<Message<'static>>,
        calls: &mut Calls,
    ) -> Result<(), SessionError> {
        let before = plan::named(&self.conversation.messages).len();
        self.conversation.messages.extend(said);
        let waiting = plan::named(&self.conversation.messages).split_off(before);
        if waiting.is_empty() {
            return Ok(());
        }
        self.name(&waiting);
        self.save().await?;
        self.dispatch(calls, &waiting, false).await;
        Ok(())
    }
}

/// How listening ended.
enum Heeded {
    Ended,
    Cancelled,
}
