//! The loop of a session.

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

/// The reason in the replies to cancelled calls.
const CANCELLED: &str = "the session was cancelled";

/// The reply to a call whose output cannot be written in the transcript or in the prompt.
const UNWRITABLE: &str = "the format of the transcript cannot express the output";

/// The reply to a call that started before a crash.
const INTERRUPTED: &str = "interrupted; the call may have run";

/// The reason for a retry after a completion without a certain message.
const NOTHING: &str = "the completion has no certain message";

/// The reason for a retry after an incomplete message.
const BROKEN: &str = "the completion is incomplete";

/// The longest pause before a retry.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long to wait for the usage after the end of a completion, and for how many pieces.
const AFTER_THE_END: Duration = Duration::from_secs(1);
const MOST_AFTER_THE_END: usize = 4;

/// The result of a request to the model.
struct SampleResult {
    /// Whether some part of the completion is kept.
    is_kept: bool,
    has_calls: bool,
    outcome: CompletionOutcome,
    is_cancelled: bool,
}

impl Session {
    /// Runs the calls without a reply, and asks the model to continue until it answers. `cancel`
    /// stops the run. `emit` receives the events.
    ///
    /// It can be called again after it returned for any reason, and then continues where it
    /// stopped.
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
        self.recognized = None;
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

    /// Returns how many more calls may run.
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
            // The transcript contains everything that was recorded before a crash.
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

    /// Sends one request to the model. Returns why the run stops, if it stops.
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
        // Reasoning alone or incomplete output does not count as progress.
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
            () if self.recognized.is_some() => Some(StopReason::NoMessage),
            // The completion may contain a complete answer before the incomplete part.
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

    /// Waits before a retry. Returns `false` if there are no retries left.
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
        // After a cancellation, the loop returns.
        cancel.run_until_cancelled(tokio::time::sleep(pause.min(LONGEST_PAUSE))).await;
        true
    }

    /// Starts a turn of the router. The ids of `pending` may be used, all other ids of the
    /// conversation are taken.
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

    /// Returns the formats in which messages are written as text: that of the transcript, and that
    /// of prompts if they are text.
    fn spelled_in(&self) -> Vec<Format> {
        let model = self.model.as_ref().filter(|model| model.tokenizer().is_none());
        std::iter::once(self.format).chain(model.map(|model| model.format().into())).collect()
    }

    /// Returns the message in a form that the transcript can contain. Returns `None` if the message
    /// or the reply to it cannot be written in the transcript or in a prompt, because that would
    /// end the session.
    pub(super) fn writable(&self, mut message: Message<'static>) -> Option<Message<'static>> {
        let mut formats = self.spelled_in();
        formats.dedup();
        formats.iter().for_each(|format| respell(&mut message, *format));
        let reply = message.is_call().then(|| {
            let mut reply = Message::new(Role::Tool, "{}");
            (reply.name, reply.recipient) = (message.recipient.clone(), Some("assistant".into()));
            (reply.call_id, reply.channel) = (message.call_id.clone(), Some(Channel::Commentary));
            reply
        });
        // No format requires more messages before it.
        let mut messages = vec![Message::new(Role::System, "-"), Message::new(Role::User, "-")];
        let at = messages.len();
        messages.extend([Some(message), reply].into_iter().flatten());
        let document = Document::from(Conversation::from_messages(messages));
        // An empty message would leave its turn open, and the reply to a dropped call would have no
        // call.
        let is_lost =
            |loss: &Loss| loss.message == Some(at) && matches!(loss.lost, Lost::Empty | Lost::Call);
        let written = convert(&document, self.format, &self.options.render);
        let is_writable = written.is_ok_and(|it| !it.losses.iter().any(is_lost))
            && self.model.as_ref().is_none_or(|model| {
                if model.tokenizer().is_none() && model.format().format() == self.format {
                    return true;
                }
                // With ids, the body cannot spell a control token, but the header can be invalid.
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

    /// Runs calls of the transcript.
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

    /// Writes the ids of calls into their messages, if the format has call ids.
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

    /// Returns the states of these calls from the journal.
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

    /// Runs these calls, except those that already ran before a crash.
    async fn dispatch(
        &mut self,
        calls: &mut Calls,
        pending: &[PendingCall],
        known: &HashMap<String, KnownCall>,
    ) {
        // Writing the transcript can change the indexes of messages, but not the calls.
        let positions = self.names.positions();
        for call in pending {
            let Some(at) = positions.get(&*call.id) else { continue };
            let message = &self.conversation.messages[*at];
            let call_state =
                known.get(&call.id).map_or(&CallState::NotStarted, |known| &known.call_state);
            match call_state {
                // The call waits for the next run.
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

    /// Adds the replies to the transcript.
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

    /// Makes sure that the replies from this index on can be written, so that no output of a tool
    /// ends a session. Some formats do not mark the end of a reply; there, text becomes a JSON
    /// string, whose end is visible. Output that still cannot be written is replaced by an error.
    fn make_replies_writable(&mut self, from: usize) {
        let is_json = |reply: &Message<'_>| {
            serde_json::from_str::<&serde_json::value::RawValue>(&reply.body.text()).is_ok()
        };
        // JSON comes from the router and can always be written.
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

    /// Clears the journal, because the transcript contains all replies.
    async fn clear_journal(&self) -> Result<(), SessionError> {
        match self.store.clone() {
            Some(store) => super::blocking(move || store.clear()).await,
            None => Ok(()),
        }
    }

    /// Sends one request to the model and runs the calls in the completion.
    async fn sample(
        &mut self,
        cancel: &CancellationToken,
        emit: &mut Emit<'_>,
    ) -> Result<SampleResult, SessionError> {
        let model = self.model.clone().expect("there is a model");
        let before = self.conversation.messages.len();
        let mut read = self.options.read.clone();
        read.continues = Some(Role::Assistant);
        read.in_reasoning = self.prompts_in_reasoning(&model);
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
        self.spent.has_shown_reasoning |= outcome.has_shown_reasoning;
        self.sampled.push_output(&outcome.ids);
        let id_count = self.sampled.end(&model, &read);
        self.spent.is_uncounted |= outcome.usage.is_none() && id_count == 0 && outcome.began > 0;
        self.spent.tokens += outcome.usage.map_or_else(|| id_count, Usage::total);
        self.spent.has_uncertain_call |= outcome.has_uncertain_call;
        // After an error, the complete messages are kept, as after a cut-off.
        let rest = if is_cancelled { Vec::new() } else { rest };
        self.add_output(rest, &mut calls).await?;
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
        self.recognized = outcome.recognized.take().filter(|_| !is_kept && !has_calls);
        self.wait(&mut calls, cancel, emit).await?;
        // Without new messages, the transcript does not change.
        if is_kept || has_calls {
            self.reply(calls, emit).await?;
        }
        result?;
        let is_cancelled = is_cancelled || cancel.is_cancelled();
        Ok(SampleResult { is_kept, has_calls, outcome, is_cancelled })
    }

    /// Reads a completion until it ends or its rest is irrelevant.
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
                        let output = reader.piece(piece, emit);
                        self.add_output(output, calls).await?;
                    }
                },
            }
        }
        if reader.is_over() {
            self.usage(&mut *completion, reader, emit).await;
        }
        Ok(ReadEnd::Complete)
    }

    /// Whether the next prompt ends inside of reasoning.
    fn prompts_in_reasoning(&self, model: &Model) -> bool {
        model.prompts_in_reasoning(self.conversation.messages.last().map(|message| message.role))
    }

    /// Creates the constraint of the next completion.
    async fn constraint(
        &mut self,
        model: &super::Model,
    ) -> Result<Option<Constraint>, SessionError> {
        let in_reasoning = self.prompts_in_reasoning(model);
        let found = model.constraint(self.spent.steps <= 1, in_reasoning).await?;
        Ok(found.map(|(constraint, unenforced)| {
            for unenforced in unenforced {
                if !self.unenforced.contains(&unenforced) {
                    self.unenforced.push(unenforced);
                }
            }
            constraint
        }))
    }

    /// Waits for the usage that a server may send after the last token.
    async fn usage(
        &self,
        completion: &mut dyn Completion,
        reader: &mut CompletionReader<'_>,
        emit: &mut Emit<'_>,
    ) {
        let next_usage = async {
            for _ in 0..MOST_AFTER_THE_END {
                match completion.next().await {
                    Ok(Some(Piece::Usage(usage))) => return Some(usage),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
            None
        };
        if let Ok(Some(usage)) = tokio::time::timeout(AFTER_THE_END, next_usage).await {
            drop(reader.piece(Piece::Usage(usage), emit));
        }
    }

    /// Adds output of the model to the conversation and runs its calls. The output is stored before
    /// the calls run.
    async fn add_output(
        &mut self,
        output: Vec<Message<'static>>,
        calls: &mut Calls,
    ) -> Result<(), SessionError> {
        if output.is_empty() {
            return Ok(());
        }
        let before = self.names.calls().len();
        let output: Vec<_> =
            output.into_iter().filter_map(|message| self.writable(message)).collect();
        self.conversation.messages.extend(output);
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
                super::blocking(move || store.record_output(&new)).await?;
            }
            (Some(_), None) => self.save(&HashMap::new()).await?,
            (None, _) => {}
        }
        self.dispatch(calls, &pending, &HashMap::new()).await;
        Ok(())
    }
}

/// How reading a completion ended.
enum ReadEnd {
    Complete,
    Cancelled,
}
