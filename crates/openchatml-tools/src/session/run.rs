//! The loop itself.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use openchatml::convert::{Loss, Lost, convert};
use openchatml::{Channel, Code, Conversation, Document, Event, Format, Message, Role, Settings};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::calls::{Calls, fingerprint};
use super::completion_reader::{CompletionOutcome, CompletionReader, Emit, is_partial};
use super::event::SessionEvent;
use super::plan::{self, Next, PendingCall};
use super::respell::respell;
use super::store::CallState;
use super::{KnownCall, Model, RunUsage, Session, SessionError, StopReason};
use crate::trace::Span;
use crate::{Completion, Constraint, Failure, Piece, Prompt, Usage};

/// Why calls are cancelled.
const CANCELLED: &str = "the session was cancelled";

/// What the reply to a call says whose output the transcript or the prompt cannot say.
const UNWRITABLE: &str = "the format of the transcript cannot express the output";

/// What the reply to a call says that began before a crash.
const INTERRUPTED: &str = "interrupted; the call may have run";

/// Why the model is asked again whose completion is of no use.
const NOTHING: &str = "the completion has no certain message";

/// Why the model is asked again that stopped in the middle of a message.
const BROKEN: &str = "the completion is incomplete";

/// No pause before the model is asked again is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long, and for how many pieces, what a completion took is waited for once it has ended.
const AFTER_THE_END: Duration = Duration::from_secs(1);
const MOST_AFTER_THE_END: usize = 4;

/// How a completion went.
struct SampleResult {
    /// Whether anything of it is kept.
    is_kept: bool,
    has_calls: bool,
    outcome: CompletionOutcome,
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
    /// The upstream fails, or a file cannot be written. Everything done before that is stored.
    pub async fn run(
        &mut self,
        cancel: &CancellationToken,
        mut emit: impl FnMut(SessionEvent<'_>) + Send,
    ) -> Result<StopReason, SessionError> {
        self.spent = RunUsage::default();
        self.unenforced.clear();
        self.prompt_losses.clear();
        let limited = cancel.child_token();
        let _timer = self.options.most_time.map(|time| {
            let limited = limited.clone();
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::time::sleep(time).await;
                limited.cancel();
            }))
        });
        let span = Span::run();
        let ended = span.around(self.run_loop(&limited, &mut emit)).await;
        if let Err(error) = &ended {
            span.failed(error.kind());
        }
        match ended? {
            StopReason::Cancelled if !cancel.is_cancelled() => Ok(StopReason::TimeLimit),
            ended => Ok(ended),
        }
    }

    /// How many calls may still be made.
    fn calls_left(&self) -> usize {
        let most = self.options.most_calls;
        most.map_or(usize::MAX, |most| most.saturating_sub(self.spent.calls))
    }

    async fn run_loop(
        &mut self,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<StopReason, SessionError> {
        let most = self.options.most_steps;
        if !matches!(plan::next(&self.conversation), Next::Answer(_)) {
            // What was noted before a crash is in the transcript.
            self.clear_journal().await?;
        }
        loop {
            if cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
            match plan::next(&self.conversation) {
                Next::Answer(_) if self.calls_left() == 0 => return Ok(StopReason::CallLimit),
                Next::Answer(pending) => self.answer(&pending, cancel, emit).await?,
                Next::Done if self.model.is_some() => return Ok(StopReason::Answered),
                Next::Sample if self.model.is_some() => {
                    if self.spent.steps == most {
                        return Ok(StopReason::StepLimit);
                    }
                    if self.options.most_tokens.is_some_and(|most| self.spent.tokens >= most) {
                        return Ok(StopReason::TokenLimit);
                    }
                    if let Some(ended) = self.step(cancel, emit).await? {
                        return Ok(ended);
                    }
                }
                Next::Sample | Next::Done => return Ok(StopReason::Replied),
            }
        }
    }

    /// Asks the model once. How the session ends, if it does.
    async fn step(
        &mut self,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<Option<StopReason>, SessionError> {
        self.spent.steps += 1;
        self.drop_partial();
        let (number, most) = (self.spent.steps, self.options.most_steps);
        emit(SessionEvent::Step { number, most });
        let before = self.conversation.messages.len();
        let sampled = self.sample(cancel, emit).await;
        let is_whole = |it: &Message<'_>| it.is_call() || it.is_answer() && !is_partial(it);
        let new = self.conversation.messages.get(before..).unwrap_or_default();
        // What was only thought, or broke off, is no step forward.
        if new.iter().any(is_whole) {
            self.spent.failed_attempts = 0;
        }
        let sampled = match sampled {
            Err(SessionError::Upstream(error)) if error.is_retryable() => {
                return match self.retry(&error.to_string(), cancel, emit).await {
                    true => Ok(None),
                    false => Err(SessionError::Upstream(error)),
                };
            }
            sampled => sampled?,
        };
        let SampleResult { is_kept, has_calls, outcome, is_cancelled } = sampled;
        Ok(match () {
            () if is_cancelled => Some(StopReason::Cancelled),
            // It may have answered before that.
            () if outcome.is_cut
                && !has_calls
                && !matches!(plan::next(&self.conversation), Next::Done) =>
            {
                let again = !outcome.is_limited && self.retry(BROKEN, cancel, emit).await;
                (!again).then_some(StopReason::CutOff)
            }
            () if is_kept || self.retry(NOTHING, cancel, emit).await => None,
            () => Some(StopReason::NoMessage),
        })
    }

    /// Waits until the model may be asked again after it was asked in vain. Whether it is.
    async fn retry(&mut self, why: &str, cancel: &CancellationToken, emit: &mut Emit<'_>) -> bool {
        if self.spent.failed_attempts >= self.options.most_retries {
            return false;
        }
        let times = u32::try_from(self.spent.failed_attempts).unwrap_or(u32::MAX);
        let pause = self.options.backoff.saturating_mul(2_u32.saturating_pow(times));
        self.spent.failed_attempts += 1;
        emit(SessionEvent::Retry {
            number: self.spent.failed_attempts,
            most: self.options.most_retries,
            why,
        });
        // Where it is cancelled, the loop ends.
        cancel.run_until_cancelled(tokio::time::sleep(pause.min(LONGEST_PAUSE))).await;
        true
    }

    /// The calls of a turn that begins, in which the ids of these calls are free.
    fn turn(&mut self, pending: &[PendingCall]) -> Calls {
        self.names.look(&self.conversation.messages);
        let free = pending.iter().filter(|call| call.repeated.is_none());
        let free: HashSet<&str> = free.map(|call| &*call.id).collect();
        let taken = self.names.calls().iter().map(|call| &call.id);
        let taken = taken.filter(|id| !free.contains(id.as_str())).cloned();
        let turn = self.router.turn(taken);
        let header = self.conversation.header.as_ref();
        let settings = header.map(|header| Settings::read(header).0).unwrap_or_default();
        Calls::new(turn.with_settings(settings), self.store.clone(), self.spelled_in())
    }

    /// The formats in which messages are spelled out: that of the transcript, and that of prompts
    /// that are text.
    fn spelled_in(&self) -> Vec<Format> {
        let model = self.model.as_ref().filter(|model| model.tokenizer().is_none());
        std::iter::once(self.format).chain(model.map(|model| model.format().into())).collect()
    }

    /// The message as the transcript can say it; `None` if it cannot, or the reply to it cannot be said
    /// there or in a prompt: then it would end the session.
    pub(super) fn writable(&self, mut message: Message<'static>) -> Option<Message<'static>> {
        self.spelled_in().iter().for_each(|format| respell(&mut message, *format));
        let reply = message.is_call().then(|| {
            let mut reply = Message::new(Role::Tool, "{}");
            (reply.name, reply.recipient) = (message.recipient.clone(), Some("assistant".into()));
            (reply.call_id, reply.channel) = (message.call_id.clone(), Some(Channel::Commentary));
            reply
        });
        // No format says more in front of it than this.
        let mut messages = vec![Message::new(Role::System, "-"), Message::new(Role::User, "-")];
        let at = messages.len();
        messages.extend([Some(message), reply].into_iter().flatten());
        let document = Document::from(Conversation::from_messages(messages));
        // What says nothing would leave its turn open, and of a call that is left out, the reply stays.
        let is_lost =
            |loss: &Loss| loss.message == Some(at) && matches!(loss.lost, Lost::Empty | Lost::Call);
        let written = convert(&document, self.format, &self.options.render);
        let is_writable = written.is_ok_and(|it| !it.losses.iter().any(is_lost))
            && self.model.as_ref().is_none_or(|model| {
                if model.tokenizer().is_none() && model.format().format() == self.format {
                    return true;
                }
                // Among ids, no text is a control token; headers are words all the same.
                let mut prompt = document.clone();
                if let (Some(_), Document::Conversation(prompt)) = (model.tokenizer(), &mut prompt)
                {
                    prompt.messages.iter_mut().for_each(|message| message.body = "{}".into());
                }
                convert(&prompt, model.format().into(), &self.options.render).is_ok()
            });
        let mut messages = document.into_conversation().messages;
        is_writable.then(|| messages.swap_remove(at))
    }

    /// Makes calls that stand in the transcript.
    async fn answer(
        &mut self,
        pending: &[PendingCall],
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<(), SessionError> {
        let mut calls = self.turn(pending);
        self.name(pending);
        let known = self.known(pending);
        self.save(&known).await?;
        self.dispatch(&mut calls, pending, &known).await;
        self.wait(&mut calls, cancel, emit).await?;
        self.reply(calls, emit).await
    }

    /// Gives calls their ids, where the format has any.
    fn name(&mut self, pending: &[PendingCall]) {
        if !self.format.carries().call_ids {
            return;
        }
        for call in pending {
            if let Some(message) = self.conversation.messages.get_mut(call.at) {
                message.call_id = Some(call.id.clone().into());
            }
        }
    }

    /// What became of these calls before a crash.
    fn known(&self, pending: &[PendingCall]) -> HashMap<String, KnownCall> {
        let Some(store) = &self.store else { return HashMap::new() };
        let known = pending.iter().map(|call| {
            let fingerprint = fingerprint(&self.conversation.messages[call.at]);
            (
                call.id.clone(),
                KnownCall { fingerprint, call_state: store.call_state(&call.id, fingerprint) },
            )
        });
        known.collect()
    }

    /// Makes these calls, some of which may have been made before.
    async fn dispatch(
        &mut self,
        calls: &mut Calls,
        pending: &[PendingCall],
        known: &HashMap<String, KnownCall>,
    ) {
        // To write the transcript may have moved the messages, but not the calls.
        let positions = self.names.positions();
        for call in pending {
            let Some(at) = positions.get(&*call.id) else { continue };
            let message = &self.conversation.messages[*at];
            let call_state =
                known.get(&call.id).map_or(&CallState::NotStarted, |known| &known.call_state);
            match call_state {
                // It waits for the next run.
                CallState::NotStarted if self.calls_left() == 0 => {}
                CallState::NotStarted => {
                    self.spent.calls += 1;
                    calls.dispatch(call, message).await;
                }
                CallState::Replied(reply) => calls.answer(&call.id, (**reply).clone()),
                CallState::Started => {
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
            let event = tokio::select! {
                biased;
                () = cancel.cancelled(), if !calls.is_cancelled() => {
                    calls.cancel(CANCELLED);
                    continue;
                }
                event = calls.next() => event,
            };
            calls.take(event, emit).await?;
        }
        Ok(())
    }

    /// Puts the replies to calls in the transcript.
    async fn reply(&mut self, calls: Calls, emit: &mut Emit<'_>) -> Result<(), SessionError> {
        let has_ids = self.format.carries().call_ids;
        let from = self.conversation.messages.len();
        for (id, mut reply) in calls.into_replies() {
            reply.call_id = has_ids.then(|| id.into());
            self.conversation.messages.push(reply);
        }
        self.make_replies_writable(from);
        for message in &self.conversation.messages[from..] {
            let index = self.next_index;
            self.next_index += 1;
            emit(SessionEvent::Replied(Event::MessageStart { index, message: message.into() }));
            emit(SessionEvent::Replied(Event::MessageDone { index, message: message.into() }));
        }
        self.save(&HashMap::new()).await?;
        self.clear_journal().await
    }

    /// Sees to it that the replies from this one on can be written: no tool ends a session by what it
    /// says. Where a reply ends is not to be seen in every format, but the end of JSON is. What
    /// cannot be written even so becomes an error.
    fn make_replies_writable(&mut self, from: usize) {
        let is_json = |reply: &Message<'_>| {
            serde_json::from_str::<&serde_json::value::RawValue>(&reply.body.text()).is_ok()
        };
        // All else is what the router writes.
        if self.conversation.messages[from..].iter().all(is_json) || self.is_writable() {
            return;
        }
        let formats = self.spelled_in();
        let text = |reply: &Message<'_>| serde_json::Value::from(&*reply.body.text()).to_string();
        for reply in self.conversation.messages[from..].iter_mut().filter(|it| !is_json(it)) {
            reply.body = text(reply).into();
            formats.iter().for_each(|format| respell(reply, *format));
        }
        if self.is_writable() {
            return;
        }
        let failure = Failure::with_code(Code::ToolOutput, UNWRITABLE);
        for reply in &mut self.conversation.messages[from..] {
            reply.body = self.router.refusal(reply, &failure).body;
        }
    }

    /// Whether the transcript and the next prompt can be written.
    fn is_writable(&mut self) -> bool {
        let model = self.model.clone();
        let can_ask =
            |model: &Model| model.request(&self.conversation, &self.sampled, None).is_ok();
        let is_promptable = model.is_none_or(|model| can_ask(&model));
        is_promptable && self.text().is_ok()
    }

    /// Forgets the calls that have their replies in the transcript.
    async fn clear_journal(&self) -> Result<(), SessionError> {
        match self.store.clone() {
            Some(store) => super::blocking(move || store.clear()).await,
            None => Ok(()),
        }
    }

    /// Asks the model once, and makes the calls that it makes.
    async fn sample(
        &mut self,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<SampleResult, SessionError> {
        let model = self.model.clone().expect("there is a model");
        let before = self.conversation.messages.len();
        let mut read = self.options.read.clone();
        read.continues = Some(Role::Assistant);
        let last = self.conversation.messages.last().map(|message| message.role);
        read.in_reasoning = model.prompts_in_reasoning(last);
        let mut reader = CompletionReader::new(&model, &read, self.next_index);
        let mut calls = self.turn(&[]);
        let span = Span::completion(model.format().into());
        let outcome = self.read_completion(&model, &mut reader, &mut calls, cancel, emit);
        let result = span.around(outcome).await;
        if let Err(error) = &result {
            span.failed(error.kind());
        }
        let is_cancelled = matches!(result, Ok(ReadEnd::Cancelled));
        let (rest, mut outcome) = match is_cancelled {
            true => reader.cancel(emit),
            false => reader.finish(emit),
        };
        outcome.usage.iter().for_each(|usage| span.took(*usage));
        self.next_index += outcome.began;
        self.sampled.push_output(&outcome.ids);
        let said = self.sampled.end(&model, &read);
        self.spent.is_uncounted |= outcome.usage.is_none() && said == 0 && outcome.began > 0;
        self.spent.tokens += outcome.usage.map_or_else(|| said, Usage::total);
        // A completion that broke is as good as one that was cut off: what is complete, is.
        let rest = if is_cancelled { Vec::new() } else { rest };
        self.said(rest, &mut calls).await?;
        if is_cancelled {
            calls.cancel(CANCELLED);
        }
        let has_calls = !calls.is_empty();
        if !is_cancelled
            && !has_calls
            && let Some(partial) = outcome.partial.take()
        {
            self.keep_partial(partial);
        }
        self.drop_preambles(before);
        let is_kept = self.conversation.messages.len() > before;
        self.wait(&mut calls, cancel, emit).await?;
        // Where nothing was said, the transcript stays as it is.
        if is_kept || has_calls {
            self.reply(calls, emit).await?;
        }
        result?;
        let is_cancelled = is_cancelled || cancel.is_cancelled();
        Ok(SampleResult { is_kept, has_calls, outcome, is_cancelled })
    }

    /// Listens to a completion until it ends, or nothing that counts can come any more.
    async fn read_completion(
        &mut self,
        model: &super::Model,
        reader: &mut CompletionReader<'_>,
        calls: &mut Calls,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<ReadEnd, SessionError> {
        let constraint = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(ReadEnd::Cancelled),
            constraint = self.constraint(model) => constraint?,
        };
        reader.any_end = constraint.as_ref().is_some_and(|it| it.any_end);
        let request = model.request(&self.conversation, &self.sampled, constraint.as_ref());
        let (request, losses) = request.map_err(SessionError::Prompt)?;
        for loss in losses {
            if !self.prompt_losses.iter().any(|known| known.lost == loss.lost) {
                self.prompt_losses.push(loss);
            }
        }
        if let Prompt::Ids(ids) = &request.prompt {
            let shared = self.sampled.ask(ids);
            emit(SessionEvent::Prompt { ids: ids.len(), shared });
        }
        let mut completion: Box<dyn Completion> = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(ReadEnd::Cancelled),
            opened = model.upstream().sample(request) => opened?,
        };
        while !reader.is_over() {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(ReadEnd::Cancelled),
                event = calls.next(), if calls.are_open() => calls.take(event, emit).await?,
                piece = completion.next() => match piece? {
                    None => break,
                    Some(piece) => {
                        let said = reader.piece(piece, emit);
                        self.said(said, calls).await?;
                    }
                },
            }
        }
        if reader.is_over() {
            self.usage(&mut *completion, reader, emit).await;
        }
        Ok(ReadEnd::Complete)
    }

    /// What the next completion is held to.
    async fn constraint(
        &mut self,
        model: &super::Model,
    ) -> Result<Option<Constraint>, SessionError> {
        let found = model.constraint(self.spent.steps <= 1).await?;
        Ok(found.map(|(constraint, unenforced)| {
            for unenforced in unenforced {
                if !self.unenforced.contains(&unenforced) {
                    self.unenforced.push(unenforced);
                }
            }
            constraint
        }))
    }

    /// Listens to what a server tells after the last token, if it tells that at once.
    async fn usage(
        &self,
        completion: &mut dyn Completion,
        reader: &mut CompletionReader<'_>,
        emit: &mut Emit<'_>,
    ) {
        let told = async {
            for _ in 0..MOST_AFTER_THE_END {
                match completion.next().await {
                    Ok(Some(Piece::Usage(usage))) => return Some(usage),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
            None
        };
        if let Ok(Some(usage)) = tokio::time::timeout(AFTER_THE_END, told).await {
            drop(reader.piece(Piece::Usage(usage), emit));
        }
    }

    /// Adds what the model said to the conversation, and makes the calls among it: not before the
    /// disk has them.
    async fn said(
        &mut self,
        said: Vec<Message<'static>>,
        calls: &mut Calls,
    ) -> Result<(), SessionError> {
        if said.is_empty() {
            return Ok(());
        }
        let before = self.names.calls().len();
        let said: Vec<_> = said.into_iter().filter_map(|message| self.writable(message)).collect();
        self.conversation.messages.extend(said);
        self.names.look(&self.conversation.messages);
        let pending = self.names.calls()[before..].to_vec();
        if pending.is_empty() {
            return Ok(());
        }
        self.name(&pending);
        match (self.store.clone(), self.saved_messages) {
            (Some(store), Some(kept)) => {
                let new = self.conversation.messages[kept..].to_vec();
                self.saved_messages = Some(self.conversation.messages.len());
                super::blocking(move || store.said(&new)).await?;
            }
            (Some(_), None) => self.save(&HashMap::new()).await?,
            (None, _) => {}
        }
        self.dispatch(calls, &pending, &HashMap::new()).await;
        Ok(())
    }
}

/// How listening ended.
enum ReadEnd {
    Complete,
    Cancelled,
}
