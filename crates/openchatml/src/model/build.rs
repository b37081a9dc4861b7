//! Short constructors of messages and tools.

use std::borrow::Cow;

use super::function::whole_name;
use super::{Body, Channel, End, Message, Role, Tool};
use crate::json::Value;

impl<'a> Message<'a> {
    /// Creates a message of the system, which applies to the whole conversation.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// assert_eq!(Message::system("Be brief."), Message::new(Role::System, "Be brief."));
    /// ```
    pub fn system(body: impl Into<Body<'a>>) -> Self {
        Self::new(Role::System, body)
    }

    /// Creates a message of the developer: instructions of an application.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// assert_eq!(Message::developer("Be brief.").role, Role::Developer);
    /// ```
    pub fn developer(body: impl Into<Body<'a>>) -> Self {
        Self::new(Role::Developer, body)
    }

    /// Creates a message of the user.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// assert_eq!(Message::user("What is 2 + 2?").role, Role::User);
    /// ```
    pub fn user(body: impl Into<Body<'a>>) -> Self {
        Self::new(Role::User, body)
    }

    /// Creates a final answer of the assistant.
    ///
    /// ```
    /// use openchatml::{Channel, Message};
    ///
    /// let answer = Message::answer("4.");
    /// assert!(answer.is_answer() && answer.channel == Some(Channel::Final));
    /// ```
    pub fn answer(body: impl Into<Body<'a>>) -> Self {
        let mut message = Self::new(Role::Assistant, body);
        message.channel = Some(Channel::Final);
        message
    }

    /// Creates a message of private reasoning of the assistant.
    ///
    /// ```
    /// use openchatml::{Message, Visibility};
    ///
    /// let thought = Message::reasoning("2 and 2 is 4.");
    /// assert!(thought.is_reasoning() && thought.visibility() == Visibility::Hidden);
    /// ```
    pub fn reasoning(body: impl Into<Body<'a>>) -> Self {
        let mut message = Self::new(Role::Assistant, body);
        message.channel = Some(Channel::Analysis);
        message
    }

    /// Creates a call of the assistant to a function. `arguments` are JSON. To call another tool,
    /// such as `browser.search`, set the recipient.
    ///
    /// ```
    /// use openchatml::{Conversation, Format, Message, RenderOptions, render};
    ///
    /// let call = Message::call("weather", r#"{"city":"Paris"}"#).with_call_id("call_1");
    /// assert!(call.is_call() && call.recipient.as_deref() == Some("functions.weather"));
    /// let document = Conversation::from_messages([call]).into();
    /// let text = render(&document, Format::OPENCHATML_2_2, &RenderOptions::default())?;
    /// assert!(text.contains(" to=functions.weather call_id=call_1"), "{text}");
    /// # Ok::<(), openchatml::RenderError>(())
    /// ```
    pub fn call(function: &str, arguments: impl Into<Body<'a>>) -> Self {
        let mut message = Self::new(Role::Assistant, arguments);
        message.recipient = Some(whole_name(function).into());
        message.channel = Some(Channel::Commentary);
        message.content_type = Some("json".into());
        message.constrained = true;
        message.end = End::Call;
        message
    }

    /// Creates the reply of a function to the assistant.
    ///
    /// ```
    /// use openchatml::{Message, Role};
    ///
    /// let reply = Message::reply("weather", "Sunny.").with_call_id("call_1");
    /// assert_eq!((reply.role, reply.name.as_deref()), (Role::Tool, Some("functions.weather")));
    /// ```
    pub fn reply(function: &str, body: impl Into<Body<'a>>) -> Self {
        let mut message = Self::new(Role::Tool, body);
        message.name = Some(whole_name(function).into());
        message.recipient = Some(Role::Assistant.as_str().into());
        message.channel = Some(Channel::Commentary);
        message
    }

    /// Sets the id of a call or a reply.
    ///
    /// ```
    /// use openchatml::Message;
    ///
    /// assert_eq!(Message::call("f", "{}").with_call_id("1").call_id.as_deref(), Some("1"));
    /// ```
    #[must_use]
    pub fn with_call_id(mut self, call_id: impl Into<Cow<'a, str>>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }
}

impl<'a> Tool<'a> {
    /// Creates a function without arguments.
    ///
    /// ```
    /// use openchatml::{Limits, Tool, Value};
    ///
    /// let schema = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
    /// let tool = Tool::new("weather")
    ///     .with_description("The weather of today.")
    ///     .with_parameters(Value::from_json(schema, &Limits::default())?);
    /// assert!(tool.parameters.is_some());
    /// # Ok::<(), openchatml::Diagnostic>(())
    /// ```
    pub fn new(name: impl Into<Cow<'a, str>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets the description of the tool.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<Cow<'a, str>>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn with_parameters(mut self, parameters: impl Into<Value<'a>>) -> Self {
        self.parameters = Some(parameters.into());
        self
    }
}
