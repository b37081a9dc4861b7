"""The native module. Its documentation is checked against the code."""

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date as Date
from os import PathLike
from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack, disjoint_base

from ._reading import Reading
from ._records import (
    Candidate,
    Conversion,
    Diagnostic,
    Explanation,
    Files,
    Fixed,
    FormatInfo,
    Grammar,
    Infill,
    Loss,
    MessageSpan,
    Negotiation,
    Pair,
    RunResult,
    Truncated,
    UserMessage,
)

__all__ = [
    "ApiWriter",
    "Cancellation",
    "ChatTemplate",
    "Conversation",
    "Event",
    "Message",
    "Parsed",
    "PromptCache",
    "Rendered",
    "Router",
    "Stream",
    "Tokenizer",
    "UserView",
    "_HarmonyParser",
    "__version__",
    "_builtin_tools",
    "_harmony_conversation",
    "_restore",
    "_restore_event",
    "_restore_message",
    "_restore_parsed",
    "_restore_rendered",
    "_restore_template",
    "_restore_tokenizer",
    "_run_command",
    "check",
    "convert",
    "detect",
    "explain",
    "fix",
    "formats",
    "grammar",
    "parse",
    "prompt",
    "render",
    "run",
]
__version__: str

_Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
_Channel: TypeAlias = Literal["analysis", "commentary", "final"]
_Intent: TypeAlias = Literal["preamble", "status", "debug"]
_End: TypeAlias = Literal["end", "call", "return", "open", "prompt"]
_Text: TypeAlias = str | Sequence[tuple[Literal["text", "literal", "marker"], str]]
_Tools: TypeAlias = Iterable[Mapping[str, Any] | Callable[..., Any]]
_Data: TypeAlias = dict[str, Any] | list[Any] | tuple[Any, ...]
_Document: TypeAlias = Conversation | Message | Pair | Infill | Files | Parsed | _Data
_Chat: TypeAlias = Conversation | Parsed | _Data
_Ids: TypeAlias = Iterable[int] | npt.NDArray[np.integer[Any]]
_AllowLoss: TypeAlias = str | Iterable[str]
_Profile: TypeAlias = Literal[
    "default", "reference", "oss-harmony", "hf-template", "hf-template-strings"
]
_InfillOrder: TypeAlias = Literal[
    "prefix-middle-suffix", "prefix-suffix-middle", "suffix-prefix-middle"
]

class _Fields(TypedDict, total=False):
    name: str | None
    recipient: str | None
    channel: _Channel | None
    call_id: str | None
    intent: _Intent | None
    content_type: str | None
    constrained: bool
    end: _End
    weight: float | None
    ids: _Ids | None
    recovered: bool
    foreign: bool
    unread: str | None

@final
class Message:
    """A message: one role, at most one channel, one text.

    It is immutable, so threads can share it. Two messages are equal if their content is equal. Messages
    can be pickled and hashed.

    Args:
        role: `"system"`, `"developer"`, `"user"`, `"assistant"` or `"tool"`.
        text: The text, or segments as pairs: `("text", …)`, `("literal", …)`, `("marker", …)`.
        name: The name of the speaker; for a reply, the tool.
        recipient: The tool of a call, or `"assistant"` for a reply.
        channel: `"analysis"`, `"commentary"`, `"final"` or `None`.
        call_id: The id that pairs a call with its reply.
        intent: `"preamble"`, `"status"`, `"debug"` or `None`.
        content_type: The type of the text, such as `"json"`.
        constrained: Whether the type is a constraint on the text.
        end: `"end"`, `"call"`, `"return"`, `"open"` or `"prompt"`.
        weight: The weight in training, 0 or more.
        ids: The token ids that the message was sampled or read as.
        recovered: Whether a reader guessed a part of the message.
        foreign: Whether a completion wrote the message for another role, or after its stop token.
        unread: The unknown words of its header.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> Message("user", "Hi!", name="Eric")
    Message('user', 'Hi!', name='Eric')
    """
    def __new__(
        cls,
        role: _Role,
        text: _Text,
        *,
        name: str | None = None,
        recipient: str | None = None,
        channel: _Channel | None = None,
        call_id: str | None = None,
        intent: _Intent | None = None,
        content_type: str | None = None,
        constrained: bool = False,
        end: _End = "end",
        weight: float | None = None,
        ids: _Ids | None = None,
        recovered: bool = False,
        foreign: bool = False,
        unread: str | None = None,
    ) -> Self: ...
    @classmethod
    def user(cls, text: _Text, **fields: Unpack[_Fields]) -> Message:
        """Creates a message of the user.

        >>> Message.user("Hi!").role
        'user'
        """
    @classmethod
    def system(cls, text: _Text, **fields: Unpack[_Fields]) -> Message:
        """Creates a message of the system.

        >>> Message.system("Be brief.").role
        'system'
        """
    @classmethod
    def developer(cls, text: _Text, **fields: Unpack[_Fields]) -> Message:
        """Creates a message of the developer.

        >>> Message.developer("Be brief.").role
        'developer'
        """
    @classmethod
    def answer(cls, text: _Text, **fields: Unpack[_Fields]) -> Message:
        """Creates an answer of the assistant.

        >>> Message.answer("4.").channel
        'final'
        """
    @classmethod
    def reasoning(cls, text: _Text, **fields: Unpack[_Fields]) -> Message:
        """Creates a message with reasoning of the assistant.

        >>> Message.reasoning("Easy.").is_hidden
        True
        """
    @classmethod
    def call(
        cls, tool: str, arguments: str | Mapping[str, Any], **fields: Unpack[_Fields]
    ) -> Message:
        """Creates a call of a tool.

        Args:
            tool: The name of the function.
            arguments: The arguments as a dict, or the text of the call.
            **fields: More fields, as in the constructor.

        >>> Message.call("weather", {"city": "Paris"}, call_id="c1").json()
        {'city': 'Paris'}
        """
    @classmethod
    def reply(cls, tool: str, content: Any, **fields: Unpack[_Fields]) -> Message:
        """Creates the reply of a tool.

        Args:
            tool: The name of the function.
            content: The text, or data that is written as JSON.
            **fields: More fields, as in the constructor.

        >>> Message.reply("weather", {"degrees": 20}).text
        '{"degrees":20}'
        """
    @classmethod
    def from_dict(cls, data: Mapping[str, Any], format: str = "openai") -> Message:
        """Reads data of a JSON format that is one message.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid, or JSON cannot express the data.
            FormatError: The format is unknown, or is not JSON.
            ParseError: The data is invalid in the format, or not exactly one message.

        >>> Message.from_dict({"role": "user", "content": "Hi!"})
        Message('user', 'Hi!')
        """
    def to_dict(self, format: str = "openai", *, allow_loss: _AllowLoss = ()) -> Any:
        """Writes the message as data of a JSON format.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            FormatError: The format is unknown, or is not JSON.
            LossError: The format does not express everything, and the loss is not allowed.
            RenderError: The format has no message like this.

        >>> Message.answer("4.").to_dict()
        {'role': 'assistant', 'content': '4.'}
        """
    @property
    def role(self) -> _Role:
        """The role."""
    @property
    def text(self) -> str:
        """The text, without markers."""
    @property
    def segments(self) -> list[tuple[Literal["text", "literal", "marker"], str]]:
        """The text and the markers as pairs `(kind, text)`."""
    @property
    def name(self) -> str | None:
        """The name of the speaker; for a reply, the tool."""
    @property
    def recipient(self) -> str | None:
        """The tool of a call, or `"assistant"` for a reply."""
    @property
    def channel(self) -> _Channel | None:
        """The declared channel, or `None`."""
    @property
    def effective_channel(self) -> _Channel:
        """The channel; without a declared one, `"final"`."""
    @property
    def call_id(self) -> str | None:
        """The id that pairs a call with its reply."""
    @property
    def intent(self) -> _Intent | None:
        """The purpose, in addition to the channel."""
    @property
    def content_type(self) -> str | None:
        """The type of the text, such as `"json"`."""
    @property
    def constrained(self) -> bool:
        """Whether the type is a constraint on the text."""
    @property
    def end(self) -> _End:
        """How the message ends: `"end"`, `"call"`, `"return"`, `"open"` or `"prompt"`."""
    @property
    def weight(self) -> float | None:
        """The weight in training."""
    @property
    def ids(self) -> list[int] | None:
        """The token ids that the message was sampled or read as, or `None`."""
    @property
    def recovered(self) -> bool:
        """Whether a reader guessed a part of the message. Such a call is never run."""
    @property
    def foreign(self) -> bool:
        """Whether a completion wrote the message for another role, or after its stop token."""
    @property
    def unread(self) -> str | None:
        """The unknown words of its header."""
    @property
    def span(self) -> tuple[int, int]:
        """The place in the input: the first byte, and the byte after the last one, of its UTF-8 text."""
    @property
    def is_answer(self) -> bool:
        """Whether this is an answer to the user."""
    @property
    def is_call(self) -> bool:
        """Whether this is a call of a tool."""
    @property
    def is_reasoning(self) -> bool:
        """Whether this is reasoning."""
    @property
    def is_hidden(self) -> bool:
        """Whether a user cannot see it."""
    @property
    def tool(self) -> str | None:
        """The function of a call or of a reply, without its namespace; otherwise `None`."""
    def json(self) -> Any:
        """Parses the text as JSON: the arguments of a call, or a reply.

        Raises:
            ParseError: The text is not JSON, or has a number that Python cannot represent.

        >>> Message.call("weather", '{"city": "Paris"}').json()
        {'city': 'Paris'}
        """
    def replace(
        self,
        *,
        role: _Role = ...,
        text: _Text = ...,
        name: str | None = ...,
        recipient: str | None = ...,
        channel: _Channel | None = ...,
        call_id: str | None = ...,
        intent: _Intent | None = ...,
        content_type: str | None = ...,
        constrained: bool = ...,
        end: _End = ...,
        weight: float | None = ...,
        ids: _Ids | None = ...,
        recovered: bool = ...,
        foreign: bool = ...,
        unread: str | None = ...,
    ) -> Message:
        """Returns a copy with other fields.

        >>> Message.user("Hi!").replace(name="Eric")
        Message('user', 'Hi!', name='Eric')
        """
    def __replace__(self, **fields: Any) -> Message: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Conversation:
    """A conversation: its messages, tools and header.

    It is immutable, so threads can share it. It is a sequence of its messages: `len`, indices, slices
    and `for` work, and `+` adds messages. Two conversations are equal if their content is equal; white
    space and other layout of the input do not count. Conversations can be pickled and hashed.

    Args:
        messages: The messages.
        tools: The tools: declarations as OpenAI's API has them, or functions of Python.
        header: The header of OpenChatML 2.x, by key.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        ToolError: A function cannot be declared.

    >>> chat = Conversation([Message.user("2 + 2?")])
    >>> chat = chat + Message.answer("4.")
    >>> len(chat), chat[-1].text
    (2, '4.')
    """
    def __new__(
        cls,
        messages: Iterable[Message] | None = None,
        *,
        tools: _Tools | None = None,
        header: Mapping[str, Any] | None = None,
    ) -> Self: ...
    @classmethod
    def from_dict(
        cls,
        data: _Data,
        format: str = "openai",
        *,
        completion: bool = False,
        continues: _Role | None = None,
        in_reasoning: bool = False,
        split_reasoning: bool = False,
        repair: Literal["mark", "accept"] | None = None,
        past_stop: bool = False,
        open_prompt: bool = False,
        mode: Literal["lenient", "strict"] = "lenient",
        recover: Literal["keep", "drop", "error", "stripped"] = "keep",
        tools: _Tools | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Conversation:
        """Reads data of a JSON format.

        Args:
            data: The data: dicts, lists, texts, numbers, `True`, `False` and `None`.
            format: The name of the JSON format.

        The other arguments are those of `parse`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid, or JSON cannot express the data.
            FormatError: The format is unknown, or is not JSON.
            ParseError: The data is invalid in the format, or not a conversation.

        >>> Conversation.from_dict({"messages": [{"role": "user", "content": "Hi!"}]})
        Conversation([Message('user', 'Hi!')])
        """
    def to_dict(self, format: str = "openai", *, allow_loss: _AllowLoss = ()) -> Any:
        """Writes the conversation as data of a JSON format.

        Args:
            format: The name of the JSON format.
            allow_loss: As in `convert`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            FormatError: The format is unknown, or is not JSON.
            LossError: The format does not express everything, and the loss is not allowed.

        >>> Conversation([Message.user("Hi!")]).to_dict("anthropic")
        {'messages': [{'role': 'user', 'content': 'Hi!'}]}
        """
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages."""
    @property
    def tools(self) -> list[dict[str, Any]]:
        """The declared tools, as OpenAI's API has them. Changing the list has no effect."""
    @property
    def header(self) -> dict[str, Any] | None:
        """The header of OpenChatML 2.x, or `None`. Changing the dict has no effect."""
    @property
    def answers(self) -> list[int | None]:
        """For each message, the index of the call that it answers, or `None`."""
    def next_prompt(self) -> Conversation:
        """Returns the conversation without the messages that the next prompt does not contain, such as
        reasoning before earlier answers.
        """
    def user_view(self, *, preambles: Literal["show", "hide"] = "show") -> UserView:
        """Returns what a user can see.

        Args:
            preambles: Whether commentary for the user is shown: `"show"` or `"hide"`.

        Raises:
            ArgumentTypeError, ArgumentValueError: The argument is invalid.

        >>> chat = Conversation([Message.reasoning("Easy."), Message.answer("4.")])
        >>> [message.text for message in chat.user_view()]
        ['4.']
        """
    def negotiate(self, other: Conversation) -> Negotiation:
        """Compares the capabilities in the header with those of another side.

        Raises:
            ArgumentValueError: One of the headers has no capabilities.
        """
    def replace(
        self,
        *,
        messages: Iterable[Message] = ...,
        tools: _Tools | None = ...,
        header: Mapping[str, Any] | None = ...,
    ) -> Conversation:
        """Returns a copy with other messages, tools or header.

        >>> Conversation([Message.user("Hi!")]).replace(messages=[])
        Conversation([])
        """
    def __replace__(self, **parts: Any) -> Conversation: ...
    def __add__(self, value: Message | Iterable[Message], /) -> Conversation: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Message: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Message, ...]: ...
    def __iter__(self) -> Iterator[Message]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _repr_html_(self) -> str: ...

@final
class UserView:
    """What a user can see of a conversation. Only `Conversation.user_view` creates it.

    It contains the visible messages: `len` and `for` work.
    """
    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """The visible messages."""
    def message(self, index: int) -> UserMessage:
        """Returns the message at this index of the conversation.

        Raises:
            HiddenError: The message is hidden.
            IndexError: There is no such message.
            ArgumentTypeError: The argument is not an `int`.

        >>> view = Conversation([Message.reasoning("Easy."), Message.answer("4.")]).user_view()
        >>> view.message(1).text
        '4.'
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[UserMessage]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Parsed:
    """The result of `parse`: a document with its diagnostics."""
    @property
    def conversation(self) -> Conversation:
        """The conversation.

        Raises:
            ParseError: The document is something else; see `document`.
        """
    @property
    def document(self) -> Conversation | Pair | Infill | Files:
        """The document: a `Conversation`, `Pair`, `Infill` or `Files`."""
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is malformed, in the order of the places."""
    @property
    def format(self) -> str:
        """The name of the format."""
    @property
    def has_errors(self) -> bool:
        """Whether there is an error among the diagnostics."""
    def strict(self) -> Conversation | Pair | Infill | Files:
        """Returns the document if there are no errors.

        Raises:
            ParseError: The first error.

        >>> parse("<|im_start|>user\\nHi!<|im_end|>\\n", "chatml").strict()
        Conversation([Message('user', 'Hi!')])
        """

@final
class Event:
    """An event of a stream. Two events are equal if their JSON is equal.

    >>> stream = Stream("harmony", completion=True)
    >>> [event.type for event in stream.feed("<|channel|>final<|message|>4.")]
    ['message.start', 'response.delta']
    """
    @staticmethod
    def tool_cancel(call_id: str, reason: str) -> Event:
        """Creates the event that a runtime sends when it cancels a call.

        >>> Event.tool_cancel("c1", "timeout").type
        'tool.cancel'
        """
    @property
    def type(self) -> str:
        """The type: `"message.start"`, `"message.done"`, `"message.hidden"`, `"response.delta"`,
        `"response.reasoning_text.delta"`, `"response.reasoning_summary_text.delta"`,
        `"response.tool_call.delta"`, `"response.delta.flush"`, `"response.done"`, `"response.cancel"`,
        `"tool.cancel"` or `"diagnostic"`.
        """
    @property
    def index(self) -> int | None:
        """The index of the message, from 0."""
    @property
    def text(self) -> str | None:
        """The text of a delta; otherwise `None`."""
    @property
    def is_preamble(self) -> bool:
        """Whether a delta is commentary for the user before the answer."""
    @property
    def message(self) -> Message | None:
        """The message of `"message.start"` (without its text) and `"message.done"`."""
    @property
    def diagnostic(self) -> Diagnostic | None:
        """The diagnostic. `None` for a user: see `code`."""
    @property
    def code(self) -> str | None:
        """The code of a diagnostic."""
    @property
    def reason(self) -> str | None:
        """Why the response is done (`"return"`, `"call"` or `"end"`), or why a call is cancelled."""
    @property
    def call_id(self) -> str | None:
        """The cancelled call."""
    def to_json(self) -> str:
        """Returns the event as JSON, as OpenChatML 2.2 has it."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the event as a dict, as OpenChatML 2.2 has it."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Stream:
    """Reads text or token ids while they arrive, and returns events.

    Threads can share a stream: a call waits until the call before it is done.

    Args:
        format: The name of a text format, for text; or a `Tokenizer`, for token ids.
        user: Whether the events contain only what a user may see.
        preambles: With `user`: whether commentary for the user is shown: `"show"` or `"hide"`.
        keep: `"bodies"` keeps the text of a message for its `"message.done"`; `"nothing"` does not.

    The other arguments are those of `parse`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown, or has no text form.

    >>> stream = Stream("harmony", completion=True, user=True)
    >>> chunks = ["<|channel|>analysis<|message|>Easy.<|end|>", "<|start|>assistant<|channel|>fi",
    ...           "nal<|message|>4", ".<|return|>"]
    >>> "".join(event.text or "" for event in stream.read(chunks))
    '4.'
    """
    def __new__(
        cls,
        format: str | Tokenizer,
        *,
        user: bool = False,
        preambles: Literal["show", "hide"] = "show",
        keep: Literal["bodies", "nothing"] = "bodies",
        completion: bool = False,
        continues: _Role | None = None,
        in_reasoning: bool = False,
        past_stop: bool = False,
        open_prompt: bool = False,
        mode: Literal["lenient", "strict"] = "lenient",
        recover: Literal["keep", "drop", "error", "stripped"] = "keep",
        tools: _Tools | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Self: ...
    def feed(self, chunk: str | bytes | _Ids | int) -> list[Event]:
        """Reads a chunk.

        Args:
            chunk: Text (`str`, or `bytes` that may end inside a character); or token ids: one, a list, or
                an array of NumPy.

        Returns:
            The new events.

        Raises:
            ArgumentTypeError, ArgumentValueError: The chunk is not what the stream reads.
            StreamError: The stream has ended.
        """
    def finish(self) -> list[Event]:
        """Ends the input.

        Returns:
            The last events.

        Raises:
            StreamError: The stream has ended before.
        """
    def cancel(self) -> list[Event]:
        """Cancels the response.

        Returns:
            The last events.

        Raises:
            StreamError: The stream has ended before.
        """
    @property
    def open_message(self) -> Message | None:
        """The message that is being read, or `None`."""
    @property
    def has_ended(self) -> bool:
        """Whether the stream has ended."""
    def read(
        self,
        source: Iterable[str | bytes | int | Iterable[int]]
        | AsyncIterable[str | bytes | int | Iterable[int]],
    ) -> Reading:
        """Reads all chunks of a source, and the end of the input.

        Args:
            source: An iterable of chunks, or an asynchronous one.

        Returns:
            The events, for `for`, or for `async for` if the source is asynchronous.

        >>> stream = Stream("chatml", completion=True)
        >>> [event.text for event in stream.read(["Hi", "!"]) if event.text]
        ['Hi', '!']
        """

@final
class ApiWriter:
    """Writes the events of a stream as the stream of another API, for its clients.

    The output is the same for the same events: ids, the name of the model and the time are
    arguments.

    Args:
        api: `"responses"` (OpenAI's Responses API), `"chat"` (Chat Completions) or `"messages"`
            (Anthropic's Messages API).
        id: The id of the response.
        model: The name of the model.
        created_at: The time, in seconds since 1970.
        framing: `"sse"` (server-sent events) or `"lines"` (one event per line).
        reasoning: `"drop"`, `"raw"`, or a function from a paragraph of reasoning to its summary.
        keep: `"bodies"` repeats the text at the end, where the API does so; `"nothing"` does not.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> writer = ApiWriter("chat", "chatcmpl-1", "gpt-oss-20b", framing="lines")
    >>> stream = Stream("harmony", completion=True)
    >>> text = writer.start()
    >>> for event in stream.read(["<|channel|>final<|message|>4.<|return|>"]):
    ...     text += writer.push(event)
    >>> text += writer.finish()
    >>> '"delta":{"content":"4."}' in text
    True
    """
    def __new__(
        cls,
        api: Literal["responses", "chat", "messages"],
        id: str,
        model: str,
        *,
        created_at: int = 0,
        framing: Literal["sse", "lines"] = "sse",
        reasoning: Literal["drop", "raw"] | Callable[[str], str] = "drop",
        keep: Literal["bodies", "nothing"] = "bodies",
    ) -> Self: ...
    def start(self) -> str:
        """Returns the begin of the response.

        Raises:
            StreamError: The response has ended.
        """
    def push(self, event: Event) -> str:
        """Returns what an event becomes; often nothing.

        Raises:
            ArgumentTypeError: The argument is not an `Event`.
            StreamError: The response has ended.
        """
    def finish(
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        incomplete: Literal["max_output_tokens", "content_filter"] | None = None,
        error: str | None = None,
    ) -> str:
        """Returns the end of the response.

        Args:
            input_tokens, output_tokens: The numbers of tokens, if both are known.
            incomplete: Why the response is incomplete: `"max_output_tokens"` or `"content_filter"`.
            error: The text of an error that ended the response.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            StreamError: The response has ended before.
        """

@final
class Tokenizer:
    """An encoding, bound to a text format: writes conversations as token ids, and reads them back.

    Text of a message is always encoded as ordinary text, so no content can become a control token.

    Args:
        format: The name of the text format.
        encoding: `"o200k_harmony"` (gpt-oss, built in); the path of a `tokenizer.json`, of a rank file,
            or of a folder with a `tokenizer.json`; the content of such a file as `bytes`; or a
            tokenizer of `transformers`, `tokenizers` or `tiktoken`. `"bytes"` has one id for each byte.
        spell_control_tokens: Writes control tokens without an id as ordinary text, and reads them from
            ordinary text. A model that was trained with the tokens reads their spelling as text.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid, or the file cannot be read.
        EncodingError: The file is malformed, or has no ids for control tokens of the format.
        FormatError: The format is unknown, or has no text form.

    >>> tokenizer = Tokenizer("harmony")
    >>> tokenizer.encode("Hello<|end|>")
    [13225, 27, 91, 419, 91, 29]
    """
    def __new__(
        cls,
        format: str,
        encoding: str | PathLike[str] | bytes | object = "o200k_harmony",
        *,
        spell_control_tokens: bool = False,
    ) -> Self: ...
    @property
    def format(self) -> str:
        """The name of the format."""
    @property
    def stop_ids(self) -> list[int]:
        """The ids that end a completion."""
    @property
    def control_tokens(self) -> dict[str, int]:
        """The control tokens of the encoding, and their ids."""
    def encode(self, text: str) -> list[int]:
        """Returns the ids of ordinary text, even if it spells a control token.

        >>> Tokenizer("harmony").encode("Hello")
        [13225]
        """
    def decode_bytes(self, ids: _Ids) -> bytes:
        """Returns the bytes of ids, with the spellings of control tokens. The bytes of ordinary text may
        begin or end inside a character.

        Raises:
            ArgumentTypeError: The argument is not ids.
            ArgumentValueError: An id is not in the vocabulary.

        >>> Tokenizer("harmony").decode_bytes([200006, 13225])
        b'<|start|>Hello'
        """
    def decode(self, ids: _Ids) -> str:
        """Returns the text of ids, with the spellings of control tokens.

        >>> Tokenizer("harmony").decode([200006, 1428, 200008])
        '<|start|>user<|message|>'
        """
    def render(
        self,
        document: _Document,
        *,
        add_generation_prompt: bool | _Role = False,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        profile: _Profile = "default",
        date: str | Date | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        model_identity: str | None = None,
        builtin_tools: Iterable[str] = (),
        response_format: Any = None,
        layout: Literal["keep", "canonical"] = "keep",
        sanitize: bool = False,
        compact: bool = False,
        infill_order: _InfillOrder | None = None,
    ) -> Rendered:
        """Writes a document as token ids. The format must express all of it.

        The arguments are those of the function `render`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            EncodingError: A control token has no id.
            RenderError: The format does not express all of the document.

        >>> Tokenizer("harmony").render(Conversation([Message.user("Hello")])).tolist()
        [200006, 1428, 200008, 13225, 200007]
        """
    def prompt(
        self,
        conversation: _Chat,
        *,
        allow_loss: _AllowLoss = "losses",
        tools: _Tools | None = None,
        keep_reasoning: bool = False,
        bare: bool = False,
        add_generation_prompt: bool | _Role = True,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        profile: _Profile = "default",
        date: str | Date | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        model_identity: str | None = None,
        builtin_tools: Iterable[str] = (),
        response_format: Any = None,
        sanitize: bool = False,
    ) -> Rendered:
        """Writes the next prompt of a model as token ids.

        Args:
            conversation: A conversation, or data of a JSON format.
            allow_loss, tools, keep_reasoning, bare: As in `prompt`.

        The other arguments are those of `prompt`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            EncodingError: A control token has no id.
            LossError: Something would be lost that is not allowed.
            RenderError: The format cannot express the prompt.

        >>> Tokenizer("harmony").prompt([{"role": "user", "content": "Hello"}], bare=True).tolist()
        [200006, 1428, 200008, 13225, 200007, 200006, 173781]
        """
    def sample(
        self,
        conversation: _Chat,
        *,
        train: Literal["all", "no-reasoning", "answers"] = "all",
        turns: Literal["all", "last"] = "all",
        headers: Literal["sampled", "after-role", "nothing"] = "sampled",
        train_messages: Iterable[int] = (),
        skip_messages: Iterable[int] = (),
        as_is: bool = False,
        allow_loss: _AllowLoss = "losses",
        tools: _Tools | None = None,
        bare: bool = False,
        enable_thinking: bool | None = None,
        profile: _Profile = "default",
        date: str | Date | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        model_identity: str | None = None,
        builtin_tools: Iterable[str] = (),
        response_format: Any = None,
        sanitize: bool = False,
    ) -> Rendered:
        """Writes a training sample as token ids, with the mask of the trained ids.

        It keeps all reasoning, and its last answer ends with the token that ends a completion.

        Args:
            conversation: A conversation, or data of a JSON format.
            train: The messages of the assistant that are trained: `"all"`, `"no-reasoning"`, `"answers"`.
            turns: `"all"`, or only the `"last"` one. A message of the user begins a turn.
            headers: The part of their headers that is trained: `"sampled"` (what the model generates),
                `"after-role"` or `"nothing"`.
            train_messages: Indices of messages that are trained, whatever their role.
            skip_messages: Indices of messages that are not trained.
            as_is: Writes the conversation as it is: adds no system message, and keeps its ends.
            allow_loss, tools, bare: As in `prompt`.

        The other arguments are those of `prompt`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid; a message does not exist.
            EncodingError: A control token has no id.
            LossError: Something would be lost that is not allowed.
            RenderError: The format cannot express the conversation.

        >>> tokenizer = Tokenizer("harmony")
        >>> sample = tokenizer.sample([{"role": "user", "content": "2 + 2?"},
        ...                            {"role": "assistant", "content": "4."}], bare=True)
        >>> tokenizer.decode(sample.ids[sample.mask])
        '<|channel|>final<|message|>4.<|return|>'
        """
    def count(self, document: _Document) -> int:
        """Returns the number of ids of a document, as `render` writes it.

        >>> Tokenizer("harmony").count(Conversation([Message.user("Hello")]))
        5
        """
    def parse(
        self,
        ids: _Ids,
        *,
        keep_ids: bool = False,
        completion: bool = False,
        continues: _Role | None = None,
        in_reasoning: bool = False,
        repair: Literal["mark", "accept"] | None = None,
        past_stop: bool = False,
        open_prompt: bool = False,
        mode: Literal["lenient", "strict"] = "lenient",
        recover: Literal["keep", "drop", "error", "stripped"] = "keep",
        tools: _Tools | None = None,
        limits: Mapping[str, int] | None = None,
    ) -> Parsed:
        """Parses token ids.

        Args:
            ids: The ids: an iterable, or an array of NumPy.
            keep_ids: Stores the ids of each message in it, so that it is written as the same ids again.

        The other arguments are those of the function `parse`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.

        >>> Tokenizer("harmony").parse([200006, 1428, 200008, 13225, 200007]).conversation
        Conversation([Message('user', 'Hello')])
        """
    def truncate(
        self,
        conversation: _Chat,
        budget: int,
        *,
        message: int | None = 2048,
        add_generation_prompt: bool | _Role = False,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        profile: _Profile = "default",
        date: str | Date | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        model_identity: str | None = None,
        builtin_tools: Iterable[str] = (),
        response_format: Any = None,
        sanitize: bool = False,
    ) -> Truncated:
        """Shortens a conversation to a number of token ids.

        Cuts messages that are too long, and then drops the oldest exchanges until the rest fits. It keeps
        messages of the system and the developer, and the last message of the user. A call and its replies
        stay or go together.

        Args:
            conversation: A conversation, or data of a JSON format.
            budget: The maximum number of ids.
            message: The maximum number of ids of the text of one message, or `None`.

        The other arguments are those of the function `render`.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            TruncateError: What must stay is too long.

        >>> chat = Conversation([Message.user("Hello"), Message.answer("Hi!"), Message.user("Bye")])
        >>> Tokenizer("harmony").truncate(chat, 6).conversation
        Conversation([Message('user', 'Bye')])
        """
    def is_completion(self, ids: _Ids) -> bool | None:
        """Returns whether ids are a completion, and not a whole conversation; `None` if unknown."""

@final
class Rendered:
    """A conversation as token ids, with the spans of its messages.

    Arrays belong to this object and are read-only: they are made without a copy.
    """
    @property
    def ids(self) -> npt.NDArray[np.uint32]:
        """The ids: an array of the shape `(ids,)` and the type `uint32`.

        Raises:
            ImportError: NumPy is not installed.
        """
    def tolist(self) -> list[int]:
        """Returns the ids as a list. This does not require NumPy."""
    @property
    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Whether each id is trained: an array of the shape `(ids,)` and the type `bool`; `None` if there is
        no mask.

        Raises:
            ImportError: NumPy is not installed.
        """
    def mask_list(self) -> list[int] | None:
        """Returns the mask as a list of 0 and 1, or `None`. This does not require NumPy."""
    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """The weight of each id in training: an array of the shape `(ids,)` and the type `float64`; `None` if
        there is no mask.

        Raises:
            ImportError: NumPy is not installed.
        """
    @property
    def spans(self) -> npt.NDArray[np.int64]:
        """The places of the messages: an array of the shape `(messages, 7)` and the type `int64`.

        The columns are the index of the message in the conversation (-1 if the format adds the message),
        the first id of its opening, of the rest of its header, of its body, of its end token and of the gap
        after it, and the id after the gap. The unit is one token id.

        Raises:
            ImportError: NumPy is not installed.
        """
    def span_list(self) -> tuple[MessageSpan, ...]:
        """Returns the places of the messages as `MessageSpan`. This does not require NumPy."""
    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the ids do not contain, all of it allowed."""
    @property
    def spelled(self) -> list[str]:
        """The control tokens that were written as ordinary text, because the encoding has no ids for them."""
    def is_prefix_of(self, other: Rendered) -> bool:
        """Returns whether other ids begin with these."""
    def __len__(self) -> int: ...

@final
class PromptCache:
    """Writes the prompts of conversations that grow: texts that were encoded before are not encoded again.

    Threads can share a cache: a call waits until the call before it is done.

    Args:
        tokenizer: The tokenizer.
        bytes: The approximate maximum size of the cache, in bytes.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> cache = PromptCache(Tokenizer("harmony"))
    >>> len(cache.prompt([{"role": "user", "content": "Hello"}], bare=True))
    7
    """
    def __new__(cls, tokenizer: Tokenizer, bytes: int = 16777216) -> Self: ...
    def prompt(
        self,
        conversation: _Chat,
        *,
        allow_loss: _AllowLoss = "losses",
        tools: _Tools | None = None,
        keep_reasoning: bool = False,
        bare: bool = False,
        add_generation_prompt: bool | _Role = True,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        profile: _Profile = "default",
        date: str | Date | None = None,
        reasoning_effort: Literal["low", "medium", "high"] | None = None,
        model_identity: str | None = None,
        builtin_tools: Iterable[str] = (),
        response_format: Any = None,
        sanitize: bool = False,
    ) -> Rendered:
        """Writes the next prompt of a model, exactly as `Tokenizer.prompt` does.

        The arguments and errors are those of `Tokenizer.prompt`.
        """
    @property
    def statistics(self) -> dict[str, int]:
        """The number of texts that were found (`hits`) and not found (`misses`), of cached `texts`, and of their `bytes`."""

@final
class ChatTemplate:
    """The chat template of a model: a Jinja template that writes prompts. It runs in a sandbox.

    The result is that of `transformers`, except that text of a message never becomes a control token.

    Args:
        source: The template; the content of a `tokenizer_config.json`; the path of a file or of the
            folder of a model (`pathlib.Path`); or a tokenizer of `transformers`.
        name: The name of the template, if there are several.
        special_tokens: Special tokens by name, such as `{"bos_token": "<s>"}`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid, or a file cannot be read.
        TemplateError: The template is invalid, or there is none of this name.

    >>> template = ChatTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
    >>> template.render([{"role": "user", "content": "Hi!"}])
    '<|user|>Hi!'
    """
    def __new__(
        cls,
        source: str | PathLike[str] | object,
        *,
        name: str | None = None,
        special_tokens: Mapping[str, str] | None = None,
    ) -> Self: ...
    @property
    def source(self) -> str:
        """The template for conversations without tools."""
    def render(
        self,
        conversation: _Chat,
        *,
        tools: _Tools | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        date: str | None = None,
        arguments: Literal["parsed", "text"] = "parsed",
        allow_loss: _AllowLoss = "losses",
        **variables: Any,
    ) -> str:
        """Writes a prompt as text.

        Args:
            conversation: A conversation, or data of a JSON format.
            tools: The tools instead of those of the conversation, as in `prompt`.
            add_generation_prompt: Ends the prompt where the assistant speaks.
            continue_final_message: Ends the prompt in the text of the last message.
            enable_thinking: The variable of this name; `None` leaves it to the template.
            date: The date that `strftime_now` returns: `"YYYY-MM-DD"`.
            arguments: How arguments of calls are passed: `"parsed"` (as data) or `"text"`.
            allow_loss: As in `convert`: what the template does not receive.
            **variables: More variables of the template.

        Raises:
            ArgumentTypeError, ArgumentValueError: An argument is invalid.
            LossError: Something would be lost that is not allowed.
            TemplateError: The template rejects the conversation, or text would become a control token.

        >>> template = ChatTemplate("{{ messages[0].content }}{{ eos_token }}", special_tokens={"eos_token": "</s>"})
        >>> template.render([{"role": "user", "content": "Hi!"}])
        'Hi!</s>'
        """
    def ids(
        self,
        conversation: _Chat,
        tokenizer: Tokenizer,
        *,
        tools: _Tools | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
        date: str | None = None,
        arguments: Literal["parsed", "text"] = "parsed",
        allow_loss: _AllowLoss = "losses",
        **variables: Any,
    ) -> Rendered:
        """Writes a prompt as token ids. Text of a message is encoded as ordinary text.

        The mask has the ids that the template marks with `{% generation %}`. There are no spans.

        The other arguments and errors are those of `render`.

        Raises:
            EncodingError: The encoding belongs to another model: it has no ids for the control tokens of
                the template. What a model's own encoding lacks is ordinary text to the model.
        """

def parse(
    text: str | bytes,
    format: str = "auto",
    *,
    completion: bool = False,
    continues: _Role | None = None,
    in_reasoning: bool = False,
    split_reasoning: bool = False,
    repair: Literal["mark", "accept"] | None = None,
    past_stop: bool = False,
    open_prompt: bool = False,
    mode: Literal["lenient", "strict"] = "lenient",
    recover: Literal["keep", "drop", "error", "stripped"] = "keep",
    tools: _Tools | None = None,
    limits: Mapping[str, int] | None = None,
) -> Parsed:
    """Parses a text. This never fails on malformed input: it returns what can be read, and
    diagnostics.

    Spans count bytes of the UTF-8 text of the input.

    Args:
        text: The text, or its UTF-8 bytes.
        format: The name of its format (see `formats`), or `"auto"` to detect it.
        completion: The text is a raw completion: it continues a prompt that ended where the
            assistant speaks. The same as `continues="assistant"`.
        continues: The role whose message the text continues.
        in_reasoning: The prompt ended inside reasoning.
        split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
            its reasoning.
        repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
            `"accept"`: it is a call like any other.
        past_stop: A completion continues after its stop token.
        open_prompt: The last message can be open: a prompt that a model will continue.
        mode: `"strict"` makes everything an error that the specification does not allow.
        recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
            `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
            gpt-oss whose control tokens were removed).
        tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
            which arguments are strings, such as qwen3-coder, their schemas do.
        limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid; bytes are not UTF-8.
        FormatError: The format is unknown, or cannot be detected.

    >>> parsed = parse("<|channel|>final<|message|>4.<|return|>", "harmony", completion=True)
    >>> parsed.conversation.messages
    (Message('assistant', '4.', channel='final', end='return'),)
    >>> parsed.diagnostics
    ()
    """
def check(
    source: str | bytes | _Document,
    format: str = "auto",
    *,
    lints: Literal["document", "sample", "none"] = "document",
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    completion: bool = False,
    continues: _Role | None = None,
    in_reasoning: bool = False,
    split_reasoning: bool = False,
    repair: Literal["mark", "accept"] | None = None,
    past_stop: bool = False,
    open_prompt: bool = False,
    mode: Literal["lenient", "strict"] = "strict",
    recover: Literal["keep", "drop", "error", "stripped"] = "keep",
    tools: _Tools | None = None,
    limits: Mapping[str, int] | None = None,
) -> tuple[Diagnostic, ...]:
    """Finds errors in a text or a document, as the command `ocml check` does.

    Args:
        source: A text, its UTF-8 bytes, data of a JSON format, or a document.
        format: The format of a text, or `"auto"`.
        lints: The lints that are checked: `"document"` (for one document), `"sample"` (also those for
            samples of a data set) or `"none"`.
        select: Codes of more lints.
        ignore: Codes of warnings and notes that are not reported. Calls without a reply
            (`E-CALL-UNANSWERED`) and replies without a call (`E-REPLY-UNMATCHED`) can be ignored, too.
        completion: The text is a raw completion: it continues a prompt that ended where the
            assistant speaks. The same as `continues="assistant"`.
        continues: The role whose message the text continues.
        in_reasoning: The prompt ended inside reasoning.
        split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
            its reasoning.
        repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
            `"accept"`: it is a call like any other.
        past_stop: A completion continues after its stop token.
        open_prompt: The last message can be open: a prompt that a model will continue.
        mode: `"strict"` makes everything an error that the specification does not allow.
        recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
            `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
            gpt-oss whose control tokens were removed).
        tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
            which arguments are strings, such as qwen3-coder, their schemas do.
        limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.

    Returns:
        The diagnostics in the order of their places.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown, or cannot be detected.

    >>> for found in check("<|im_start|>user\\nHi!<|im_end|>\\n<|im_start|>usr\\n", "chatml"):
    ...     print(found.line, found.severity, found.code)
    3 error E-PARSE-HEADER
    4 error E-STREAM-TRUNCATED
    """
def fix(
    text: str | bytes,
    format: str = "auto",
    *,
    unsafe_fixes: bool = False,
    completion: bool = False,
    continues: _Role | None = None,
    in_reasoning: bool = False,
    split_reasoning: bool = False,
    repair: Literal["mark", "accept"] | None = None,
    past_stop: bool = False,
    open_prompt: bool = False,
    mode: Literal["lenient", "strict"] = "strict",
    recover: Literal["keep", "drop", "error", "stripped"] = "keep",
    tools: _Tools | None = None,
    limits: Mapping[str, int] | None = None,
) -> Fixed:
    """Applies the fixes of the diagnostics of a text.

    Args:
        text: The text, or its UTF-8 bytes.
        format: The name of its format, or `"auto"`.
        unsafe_fixes: Also applies fixes that can change the conversation.
        completion: The text is a raw completion: it continues a prompt that ended where the
            assistant speaks. The same as `continues="assistant"`.
        continues: The role whose message the text continues.
        in_reasoning: The prompt ended inside reasoning.
        split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
            its reasoning.
        repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
            `"accept"`: it is a call like any other.
        past_stop: A completion continues after its stop token.
        open_prompt: The last message can be open: a prompt that a model will continue.
        mode: `"strict"` makes everything an error that the specification does not allow.
        recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
            `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
            gpt-oss whose control tokens were removed).
        tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
            which arguments are strings, such as qwen3-coder, their schemas do.
        limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown, or cannot be detected.

    >>> fix("<|im_start|>user\\nHi!", "chatml", unsafe_fixes=True).text
    '<|im_start|>user\\nHi!<|im_end|>'
    """
def detect(text: str | bytes) -> list[Candidate]:
    """Detects the format of a text.

    Args:
        text: The text, or its UTF-8 bytes.

    Returns:
        The possible formats, the most likely one first. Read the text in the first one only if it
        `is_certain`.

    Raises:
        ArgumentTypeError, ArgumentValueError: The argument is invalid.

    >>> detect("<|im_start|>user\\nHi!<|im_end|>\\n")[0].format
    'chatml'
    """
def formats() -> list[FormatInfo]:
    """Returns all formats.

    >>> [format.name for format in formats()][:3]
    ['openchatml-2.2', 'openchatml-2.0', 'openchatml-0.1']
    """
def explain(code: str) -> Explanation:
    """Explains the code of a diagnostic.

    Args:
        code: The code.

    Raises:
        ArgumentTypeError, ArgumentValueError: There is no such code.

    >>> explain("E-LIMIT").user_summary
    'This conversation is too large.'
    """
def render(
    document: _Document,
    to: str,
    *,
    add_generation_prompt: bool | _Role = False,
    continue_final_message: bool = False,
    enable_thinking: bool | None = None,
    profile: _Profile = "default",
    date: str | Date | None = None,
    reasoning_effort: Literal["low", "medium", "high"] | None = None,
    model_identity: str | None = None,
    builtin_tools: Iterable[str] = (),
    response_format: Any = None,
    layout: Literal["keep", "canonical"] = "keep",
    sanitize: bool = False,
    compact: bool = False,
    infill_order: _InfillOrder | None = None,
    ids: bool = False,
) -> str:
    """Writes a document in a format that expresses all of it.

    Args:
        document: a `Conversation`, `Message`, `Pair`, `Infill`, `Files` or `Parsed`, or data of a JSON
            format.
        to: The name of the format.
        add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
            that is given.
        continue_final_message: Leaves the last message open.
        enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
        profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
            documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
            `"hf-template-strings"`.
        date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
            `"YYYY-MM-DD"`.
        reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
        model_identity: The identity of the model, in the system message of Harmony.
        builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
        response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
        layout: `"keep"` keeps the white space of what was read in the same format, `"canonical"` does
            not.
        sanitize: Writes `_` for characters that are not allowed in a header value, instead of refusing
            it.
        compact: OpenChatML 0.1: no line break before `<|im_end|>`.
        infill_order: The order of the parts of fill-in-the-middle tasks.
        ids: In canonical JSON, also writes the known token ids of messages.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown.
        LossError: The data has keys or values that are not part of its format.
        RenderError: The format does not express all of the document. Use `convert`.

    >>> render(Conversation([Message.user("Hi!")]), "chatml")
    '<|im_start|>user\\nHi!<|im_end|>\\n'
    """
def convert(
    source: str | bytes | _Document,
    to: str,
    *,
    format: str = "auto",
    allow_loss: _AllowLoss = (),
    add_generation_prompt: bool | _Role = False,
    continue_final_message: bool = False,
    enable_thinking: bool | None = None,
    profile: _Profile = "default",
    date: str | Date | None = None,
    reasoning_effort: Literal["low", "medium", "high"] | None = None,
    model_identity: str | None = None,
    builtin_tools: Iterable[str] = (),
    response_format: Any = None,
    layout: Literal["keep", "canonical"] = "keep",
    sanitize: bool = False,
    compact: bool = False,
    infill_order: _InfillOrder | None = None,
    ids: bool = False,
    completion: bool = False,
    continues: _Role | None = None,
    in_reasoning: bool = False,
    split_reasoning: bool = False,
    repair: Literal["mark", "accept"] | None = None,
    past_stop: bool = False,
    open_prompt: bool = False,
    mode: Literal["lenient", "strict"] = "lenient",
    recover: Literal["keep", "drop", "error", "stripped"] = "keep",
    tools: _Tools | None = None,
    limits: Mapping[str, int] | None = None,
) -> Conversion:
    """Converts a text or a document to another format.

    What the format does not express is a loss with a name. Each loss must be allowed, so nothing is
    lost unnoticed.

    Args:
        source: A text, its UTF-8 bytes, or a `Conversation`, `Message`, `Pair`, `Infill`, `Files` or `Parsed`, or data of a JSON
            format.
        to: The name of the format of the output.
        format: The name of the format of the input, or `"auto"`.
        allow_loss: `"all"`, `"losses"` (all losses, and no dropped input), or the names of losses
            (`"call_id"`, `"channel"`, …) and of dropped input (`"unknown-key"`, `"stray-text"`, …).
        add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
            that is given.
        continue_final_message: Leaves the last message open.
        enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
        profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
            documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
            `"hf-template-strings"`.
        date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
            `"YYYY-MM-DD"`.
        reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
        model_identity: The identity of the model, in the system message of Harmony.
        builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
        response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
        layout: `"keep"` keeps the white space of what was read in the same format, `"canonical"` does
            not.
        sanitize: Writes `_` for characters that are not allowed in a header value, instead of refusing
            it.
        compact: OpenChatML 0.1: no line break before `<|im_end|>`.
        infill_order: The order of the parts of fill-in-the-middle tasks.
        ids: In canonical JSON, also writes the known token ids of messages.
        completion: The text is a raw completion: it continues a prompt that ended where the
            assistant speaks. The same as `continues="assistant"`.
        continues: The role whose message the text continues.
        in_reasoning: The prompt ended inside reasoning.
        split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
            its reasoning.
        repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
            `"accept"`: it is a call like any other.
        past_stop: A completion continues after its stop token.
        open_prompt: The last message can be open: a prompt that a model will continue.
        mode: `"strict"` makes everything an error that the specification does not allow.
        recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
            `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
            gpt-oss whose control tokens were removed).
        tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
            which arguments are strings, such as qwen3-coder, their schemas do.
        limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: A format is unknown, or cannot be detected.
        LossError: Something would be lost that is not allowed; nothing is written.
        RenderError: The format cannot express the document at all.

    >>> sampled = "<|channel|>final<|message|>4.<|return|>"
    >>> converted = convert(sampled, "openai", format="harmony", completion=True, allow_loss=["return"])
    >>> converted.output
    '{"messages":[{"role":"assistant","content":"4."}]}'
    >>> [str(loss) for loss in converted.losses]
    ['message 0: return dropped']
    """
def prompt(
    conversation: _Chat,
    to: str,
    *,
    allow_loss: _AllowLoss = "losses",
    tools: _Tools | None = None,
    keep_reasoning: bool = False,
    bare: bool = False,
    add_generation_prompt: bool | _Role = True,
    continue_final_message: bool = False,
    enable_thinking: bool | None = None,
    profile: _Profile = "default",
    date: str | Date | None = None,
    reasoning_effort: Literal["low", "medium", "high"] | None = None,
    model_identity: str | None = None,
    builtin_tools: Iterable[str] = (),
    response_format: Any = None,
    sanitize: bool = False,
) -> Conversion:
    """Writes the next prompt of a model.

    A prompt does not contain the reasoning before earlier answers, declares the tools where the format
    does so, and ends where the assistant speaks. A prompt of Harmony or Apertus has the system message
    that the model expects, with the date of today.

    Args:
        conversation: A conversation, or data of a JSON format.
        to: The name of the format of the model.
        allow_loss: As in `convert`. The default allows what the format cannot express, which is in
            `losses` of the result, but no input that the reader drops, such as an unknown role.
        tools: The tools instead of those of the conversation: functions of Python with type hints, or
            declarations as OpenAI's API has them.
        keep_reasoning: Keeps the reasoning before earlier answers.
        bare: Adds no system message.
        add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
            that is given.
        continue_final_message: Leaves the last message open.
        enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
        profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
            documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
            `"hf-template-strings"`.
        date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
            `"YYYY-MM-DD"`.
        reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
        model_identity: The identity of the model, in the system message of Harmony.
        builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
        response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
        sanitize: As in `render`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown.
        LossError: Something would be lost that is not allowed.
        RenderError: The format cannot express the prompt.
        ToolError: A function cannot be declared.

    >>> print(prompt([{"role": "user", "content": "Hi!"}], "harmony", bare=True))
    <|start|>user<|message|>Hi!<|end|><|start|>assistant
    """
def grammar(
    format: str,
    language: Literal["gbnf", "lark", "structural-tag"],
    *,
    tools: _Tools | None = None,
    builtin_tools: Iterable[str] = (),
    tool_choice: str = "auto",
    parallel_tool_calls: bool = False,
    answer: Any = None,
    reasoning: Literal["allowed", "forbidden", "required"] = "allowed",
    preambles: Literal["allowed", "forbidden", "required"] = "allowed",
    in_reasoning: bool = False,
) -> Grammar:
    """Returns a grammar of completions, for constrained decoding.

    With it, an engine lets a model generate only valid output: the channels of the format, calls of the
    declared tools with arguments that match their schemas, and an end token.

    Args:
        format: The name of the format of the model.
        language: `"gbnf"` (llama.cpp), `"lark"` (llguidance) or `"structural-tag"` (xgrammar).
        tools: Functions of Python with type hints, or declarations as OpenAI's API has them.
        builtin_tools: `"browser"` and `"python"`, the built-in tools of gpt-oss.
        tool_choice: `"auto"`, `"none"`, `"required"` or the name of a tool.
        parallel_tool_calls: Allows several calls in one completion.
        answer: The JSON Schema of the answer.
        reasoning: `"allowed"`, `"forbidden"` or `"required"`.
        preambles: Commentary for the user: as `reasoning`.
        in_reasoning: The prompt ended inside reasoning.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: The format is unknown, or has no grammar.
        GrammarError: A required call is impossible, or the schema of the answer allows no value.

    >>> grammar("chatml", "lark").text
    'start: TEXT <|im_end|>\\nTEXT: /(?s:.*)/\\n'
    """
def _run_command(arguments: Sequence[str]) -> int: ...
@final
class Router:
    """Runs the calls of models: functions of Python are the tools.

    It checks the arguments of a call against the schema of its tool, and runs calls concurrently.
    Each call gets exactly one reply, even if its function raises an exception, hangs, or returns too
    much. Plain functions run in threads, asynchronous ones in an event loop. An exception is logged
    (logger `openchatml`); the model gets its type and text.

    Args:
        tools: The functions. Their type hints and docstrings are the declarations; see
            `declaration`.
        timeout: The maximum time of a call, in seconds. A plain function that takes longer goes on
            in its thread, without effect on the reply.
        at_once: The number of calls that run concurrently.
        output_bytes: The maximum size of a reply, in bytes.
        envelope: `"json"` (a reply of OpenChatML 2.2, which says whether the call succeeded) or
            `"raw"` (only the output).
        approve: A function of the name of a tool and of its arguments as JSON. It returns whether
            the call may run, a reason why not, or other arguments as a dict.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        ToolError: A function cannot be declared.

    >>> def weather(city: str) -> str:
    ...     return f"Sunny in {city}."
    >>> router = Router([weather], envelope="raw")
    >>> call = Message.call("weather", {"city": "Paris"}, call_id="c1")
    >>> router.answer(Conversation([Message.user("?"), call]))
    (Message('tool', 'Sunny in Paris.', name='functions.weather', recipient='assistant', channel='commentary', call_id='c1'),)
    """
    def __new__(
        cls,
        tools: Iterable[Callable[..., Any]],
        *,
        timeout: float = 30.0,
        at_once: int = 16,
        output_bytes: int = 1048576,
        envelope: Literal["json", "raw"] = "json",
        approve: Callable[[str, str], Any] | None = None,
    ) -> Self: ...
    @property
    def declarations(self) -> list[dict[str, Any]]:
        """The declarations of the tools, as OpenAI's API has them."""
    def answer(self, conversation: Conversation) -> tuple[Message, ...]:
        """Runs the calls of a conversation that have no reply, and returns the replies in the order in
        which the calls end.

        Asynchronous functions run in an event loop of their own; `answer_async` uses the loop of the
        caller.

        Raises:
            ArgumentTypeError: The argument is not a `Conversation`.
        """
    def _answer(
        self,
        conversation: Conversation,
        runtime: Any = None,
        cancellation: Cancellation | None = None,
    ) -> tuple[Message, ...]: ...

@final
class Cancellation:
    """Cancels a run from another thread."""
    def __new__(cls) -> Self: ...
    def cancel(self) -> None:
        """Cancels the run. It ends soon, with the reason `"cancelled"`."""

def run(
    conversation: _Chat,
    model: str | Callable[[Any], Any],
    tools: Router | Iterable[Callable[..., Any]] | None = None,
    *,
    format: str | None = None,
    tokenizer: Tokenizer | None = None,
    max_steps: int | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_time: float | None = None,
    on_event: Callable[[dict[str, Any]], object] | None = None,
    engine: str | None = None,
    model_name: str | None = None,
    api_key: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    keep_reasoning: bool = False,
    bare: bool = False,
    enable_thinking: bool | None = None,
    profile: _Profile = "default",
    date: str | Date | None = None,
    reasoning_effort: Literal["low", "medium", "high"] | None = None,
    model_identity: str | None = None,
    builtin_tools: Iterable[str] = (),
    response_format: Any = None,
    sanitize: bool = False,
) -> RunResult:
    """Runs a model with tools until it answers: asks it, runs its calls, and asks it again.

    Args:
        conversation: The conversation until now, or data of a JSON format.
        model: The address of a server with `/v1/completions` (vLLM, SGLang, llama.cpp, Ollama); or
            a function from a prompt to a completion. The prompt is a text, or token ids if there is
            a `tokenizer`. The completion is a text, token ids, or an iterable of them; the function
            and the iterable may be asynchronous.
        tools: A `Router`, or functions of Python.
        format: The name of the format of the model. The default is that of the tokenizer, or
            `"harmony"`.
        tokenizer: Writes prompts as token ids, and reads completions that are token ids.
        max_steps: The maximum number of requests to the model.
        max_calls: The maximum number of calls of tools.
        max_tokens: The maximum number of generated tokens, if the server reports them.
        max_time: The maximum time, in seconds.
        on_event: A function that gets each event as a dict.
        engine: The kind of the server: `"vllm"`, `"sglang"`, `"llama.cpp"`, `"ollama"` or
            `"openai"`. The default is to ask it.
        model_name: The name of the model, for a server.
        api_key: The key for a server.
        sampling: Parameters of sampling for a server, such as `{"temperature": 0.5}`.

    The other arguments are those of `prompt`.

    Returns:
        The conversation with all new messages, why the run stopped, and what prompts lost.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        ModelError: The model failed. Its `conversation` has what came before, with the replies of tools.
        RenderError: The format cannot express a prompt.
        ToolError: A tool cannot be declared.

    >>> def weather(city: str) -> str:
    ...     '''The weather of a city.'''
    ...     return "Sunny."
    >>> def model(prompt):
    ...     if "Sunny." in prompt:
    ...         return "<|channel|>final<|message|>It is sunny.<|return|>"
    ...     return ('<|channel|>commentary to=functions.weather <|constrain|>json<|message|>'
    ...             '{"city": "Paris"}<|call|>')
    >>> result = run([{"role": "user", "content": "How is the weather?"}], model, [weather])
    >>> result.stop_reason, result.conversation[-1].text
    ('answered', 'It is sunny.')
    """
@disjoint_base
class _HarmonyParser:
    def __new__(
        cls, tokenizer: Tokenizer, role: str | None, strict: bool, guard: bool
    ) -> Self: ...
    def process(self, token: int) -> Self:
        """Reads an id."""
    def process_eos(self) -> Self:
        """Ends the input."""
    @property
    def current_content(self) -> str:
        """The text of the open message until now."""
    @property
    def last_content_delta(self) -> str | None:
        """The text that the last id added, or `None`."""
    @property
    def current_content_type(self) -> str | None:
        """The type of the content of the open message."""
    @property
    def current_recipient(self) -> str | None:
        """The recipient of the open message."""
    @property
    def current_channel(self) -> str | None:
        """The channel of the open message."""
    @property
    def tokens(self) -> list[int]:
        """The ids until now."""
    def _process_all(self, tokens: Sequence[int]) -> None: ...
    @property
    def _role(self) -> str | None: ...
    @property
    def _name(self) -> str | None: ...
    @property
    def _fields(
        self,
    ) -> list[tuple[str, str | None, str, str | None, str | None, str | None]]: ...
    @property
    def _count(self) -> int: ...
    @property
    def _state(self) -> str: ...
    @property
    def _header_tokens(self) -> list[int]: ...
    @property
    def _content_tokens(self) -> list[int]: ...

def _harmony_conversation(
    leading: str | None, messages: list[tuple[str, str | None, str, str | None, str | None, str | None]]
) -> Conversation | None: ...
def _builtin_tools(name: str) -> dict[str, Any]: ...
@final
class _Kernel:
    def __new__(cls, task: str, target: Any, options: dict[str, Any]) -> Self: ...
    def rows(self, data: Any) -> _Rows: ...
    def schema(self) -> _Schema: ...
    def kept(self) -> list[str]: ...

@final
class _Rows:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...

@final
class _Schema:
    @property
    def names(self) -> list[str]: ...
    @property
    def ddl(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...

def _restore(format: str, text: str) -> Conversation: ...
def _restore_event(state: Any, message: Message | None) -> Event: ...
def _restore_message(format: str, text: str) -> Message: ...
def _restore_parsed(
    carrier: str, content: str, diagnostics: Any, format: str, text: str | None
) -> Parsed: ...
def _restore_rendered(state: Any) -> Rendered: ...
def _restore_template(state: Any) -> ChatTemplate: ...
def _restore_tokenizer(
    format: str, encoding: Any, spell_control_tokens: bool
) -> Tokenizer: ...
