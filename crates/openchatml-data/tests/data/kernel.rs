//! The kernel: columns of any type, and what is made of their conversations.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int8Type, Int16Type, Int32Type};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Int64Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
    TimestampSecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use openchatml::Format;
use openchatml_data::DataError;
use openchatml_data::kernel::{Kernel, KernelOptions, Processed, Task, TokenizeOptions, TooLong};
use openchatml_tokens::{ByteEncoding, Tokenizer};

use crate::support::{Random, conversation, convert_to, to_harmony, tokenize, tokens};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, it)| (name, it, true)))
        .unwrap()
}

fn kernel(column: Option<&str>, mut options: KernelOptions) -> Kernel {
    options.column = column.map(str::to_owned);
    Kernel::new(options)
}

fn texts(processed: &Processed) -> Vec<&str> {
    processed.batch.column(0).as_string::<i64>().iter().map(Option::unwrap).collect()
}

fn conversations(count: usize) -> Vec<String> {
    let mut random = Random::new(1);
    (0..count).map(|_| conversation(&mut random)).collect()
}

#[test]
fn strings_of_all_types_give_the_same() {
    let rows = conversations(20);
    let rows: Vec<Option<&str>> = rows.iter().map(|row| Some(row.as_str())).chain([None]).collect();
    let mut dictionary = StringDictionaryBuilder::<Int16Type>::new();
    rows.iter().for_each(|row| dictionary.append_option(*row));
    let bytes = || rows.iter().map(|row| row.map(str::as_bytes)).collect::<Vec<_>>();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(rows.clone())),
        Arc::new(LargeStringArray::from(rows.clone())),
        Arc::new(StringViewArray::from(rows.clone())),
        Arc::new(BinaryArray::from(bytes())),
        Arc::new(LargeBinaryArray::from(bytes())),
        Arc::new(dictionary.finish()),
    ];
    let kernel = kernel(Some("chat"), to_harmony());
    let expected = kernel.process(&batch(vec![("chat", columns[0].clone())])).unwrap();
    assert_eq!(expected.rows, (0..20).collect::<Vec<_>>());
    assert_eq!((expected.rejected.len(), expected.rejected[0].row), (1, 20));
    for column in columns {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1; 21]));
        let whole = batch(vec![("n", numbers), ("chat", column.clone())]);
        let found = kernel.process(&whole).unwrap();
        assert_eq!(found.batch, expected.batch, "{}", column.data_type());
        assert_eq!(found.rejected, expected.rejected);
        // A slice gives the rows of the slice.
        let found = kernel.process(&whole.slice(5, 10)).unwrap();
        assert_eq!(found.batch, expected.batch.slice(5, 10), "{}", column.data_type());
    }
}

/// A column of lists of messages.
fn messages(large: bool) -> ArrayRef {
    let roles: ArrayRef = Arc::new(StringArray::from(vec!["user", "assistant", "user"]));
    let contents: ArrayRef = Arc::new(StringViewArray::from(vec!["Hi \"you\"!", "Hello", "Bye"]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![None, None, Some("Eric")]));
    let fields = [("role", roles), ("content", contents), ("name", names)];
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array))
        .collect();
    let structs: ArrayRef = Arc::new(StructArray::from(fields));
    let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
    match large {
        true => {
            let offsets = OffsetBuffer::from_lengths([2, 1]);
            Arc::new(LargeListArray::new(item, offsets, structs, None))
        }
        false => Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([2, 1]), structs, None)),
    }
}

#[test]
fn lists_of_messages_and_whole_rows_are_records() {
    let expected = [
        "<|im_start|>user\nHi \"you\"!<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n",
        "<|im_start|>user name=Eric\nBye<|im_end|>\n",
    ];
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    for large in [false, true] {
        let table = batch(vec![("id", ids.clone()), ("messages", messages(large))]);
        // A field that is null is no key, so the first messages have no name.
        let by_column = kernel(Some("messages"), convert_to(Format::CHATML));
        let mut options = convert_to(Format::CHATML);
        options.keep = vec!["id".to_owned()];
        for kernel in [by_column, Kernel::new(options)] {
            let processed = kernel.process(&table).unwrap();
            assert!(processed.rejected.is_empty(), "{:?}", processed.rejected);
            assert_eq!(texts(&processed), expected);
        }
    }
}

#[test]
fn prompts_with_completions_are_records() {
    let column = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let table = batch(vec![("prompt", column("2 + 2?")), ("completion", column("4."))]);
    let processed = Kernel::new(convert_to(Format::CHATML)).process(&table).unwrap();
    let expected = "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n4.<|im_end|>\n";
    assert_eq!(texts(&processed), [expected]);
}

#[test]
fn other_types_are_refused_by_the_name_of_the_column() {
    let days: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let inner = Fields::from(vec![Field::new("when", days.data_type().clone(), true)]);
    let nested: ArrayRef = Arc::new(StructArray::new(inner, vec![days.clone()], None));
    let refused = |column: Option<&str>, columns: Vec<(&str, ArrayRef)>| {
        let error = kernel(column, to_harmony()).process(&batch(columns)).unwrap_err();
        assert!(matches!(error, DataError::Column { .. }), "{error}");
        error.to_string()
    };
    let error = refused(Some("flag"), vec![("flag", flags), ("text", text.clone())]);
    assert_eq!(
        error,
        "column `flag`: values of type Boolean are no conversations; strings, lists and structs are supported"
    );
    let error = refused(None, vec![("day", days), ("text", text.clone())]);
    assert!(error.starts_with("column `day`: values of type Timestamp"), "{error}");
    assert!(error.ends_with("or keep this one beside them with `--keep day`"), "{error}");
    let error = refused(Some("chat"), vec![("chat", nested)]);
    assert!(error.starts_with("column `chat.when`: "), "{error}");
    let error = refused(Some("chta"), vec![("chat", text)]);
    assert_eq!(error, "column `chta`: there is no such column; the columns are `chat`");
}

#[test]
fn the_schema_depends_on_the_options_alone() {
    let tasks = [
        to_harmony(),
        tokenize(),
        KernelOptions::new(Task::check()),
        KernelOptions::new(Task::Count(None)),
        KernelOptions::new(Task::Count(Some(tokens()))),
        KernelOptions::new(Task::Fingerprint { hashes: 0 }),
        KernelOptions::new(Task::Fingerprint { hashes: 16 }),
    ];
    for options in tasks {
        let kernel = Kernel::new(options);
        for rows in [vec![], conversations(3), vec!["[]".to_owned(), "}".to_owned()]] {
            let chats: ArrayRef = Arc::new(StringArray::from(rows));
            let processed = kernel.process(&batch(vec![("chat", chats)])).unwrap();
            assert_eq!(processed.batch.schema(), *kernel.schema());
            assert_eq!(processed.batch.num_rows(), processed.rows.len());
        }
    }
}

#[test]
fn ids_masks_and_spans_are_those_of_the_tokenizer() {
    let rows = conversations(10);
    let chats: ArrayRef = Arc::new(StringArray::from(rows.clone()));
    let processed = Kernel::new(tokenize()).process(&batch(vec![("chat", chats)])).unwrap();
    assert!(processed.rejected.is_empty(), "{:?}", processed.rejected);
    let controls = openchatml::TextFormat::HARMONY.controls().entries();
    let encoding = ByteEncoding::new(controls.iter().map(|(_, spelling)| *spelling));
    let tokenizer = Tokenizer::new(openchatml::TextFormat::HARMONY, encoding);
    let column = |name: &str| processed.batch.column_by_name(name).unwrap().as_list::<i32>();
    for (row, text) in rows.iter().enumerate() {
        let ids = column("ids").value(row);
        let ids: Vec<u32> = ids
            .as_primitive::<Int32Type>()
            .values()
            .iter()
            .map(|id| u32::try_from(*id).unwrap())
            .collect();
        let mask = column("mask").value(row);
        let mask = mask.as_primitive::<Int8Type>().values();
        let read = tokenizer.parse(&ids, &Default::default()).into_conversation();
        let original = openchatml::parse(text, Format::OPENAI, &Default::default());
        let original = original.into_conversation();
        let bodies = |it: &openchatml::Conversation<'_>| {
            it.messages.iter().map(|message| message.body.text().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(bodies(&read), bodies(&original));
        // What is trained is what the assistant says.
        let trained: Vec<u32> = ids
            .iter()
            .zip(mask.iter())
            .filter(|(_, trained)| **trained == 1)
            .map(|it| *it.0)
            .collect();
        let answers = read.messages.iter().filter(|message| message.is_answer()).count();
        let end = tokenizer.id(openchatml::Control::Return);
        assert_eq!(trained.last().copied(), end);
        assert_eq!(
            trained
                .iter()
                .filter(|id| tokenizer.id(openchatml::Control::Message) == Some(**id))
                .count(),
            answers
        );
        let spans = column("spans").value(row);
        let spans = spans.as_struct();
        let numbers = spans.column_by_name("message").unwrap().as_primitive::<Int32Type>();
        let numbers: Vec<_> = numbers.iter().collect();
        assert_eq!(numbers, (0..7).map(Some).collect::<Vec<_>>());
    }
    assert!(column("weights").is_null(0));
}

#[test]
fn weights_that_are_fractions_are_columns() {
    let row = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":0.5}]}"#;
    let chats: ArrayRef = Arc::new(StringArray::from(vec![row]));
    let processed = Kernel::new(tokenize()).process(&batch(vec![("chat", chats)])).unwrap();
    let weights = processed.batch.column_by_name("weights").unwrap().as_list::<i32>().value(0);
    let weights = weights.as_primitive::<arrow_array::types::Float32Type>().values().to_vec();
    assert_eq!((weights[0], weights.last()), (0.0, Some(&0.5)));
    assert!(processed.tally.lost.is_empty(), "{:?}", processed.tally.lost);
}

#[test]
fn long_conversations_are_rejected_or_lose_their_oldest_exchanges() {
    let turn = |text: &str| {
        format!(r#"{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"{text}"}}"#)
    };
    let row = format!(r#"{{"messages":[{},{},{}]}}"#, turn("first"), turn("second"), turn("third"));
    let chats: ArrayRef = Arc::new(StringArray::from(vec![row]));
    let table = batch(vec![("chat", chats)]);
    let process = |most: usize, too_long: TooLong| {
        let mut options = TokenizeOptions::new(tokens());
        options.max_length = Some(most);
        options.too_long = too_long;
        let mut kernel = tokenize();
        kernel.task = Task::Tokenize(options);
        Kernel::new(kernel).process(&table).unwrap()
    };
    let all = process(10_000, TooLong::Reject);
    let len = |processed: &Processed| {
        let ids = processed.batch.column_by_name("ids").unwrap().as_list::<i32>();
        ids.value(0).len()
    };
    let whole = len(&all);
    assert!(process(whole, TooLong::Reject).rejected.is_empty());
    let rejected = process(whole - 1, TooLong::Reject).rejected;
    let text = format!("the conversation has {whole} ids, but the limit is {}", whole - 1);
    assert_eq!(rejected[0].found[0].message, text);
    let truncated = process(whole - 1, TooLong::Truncate);
    assert!(len(&truncated) < whole);
    assert_eq!(truncated.tally.lost[&openchatml::convert::Lost::Truncated.word()].times, 2);
    let spans = truncated.batch.column_by_name("spans").unwrap().as_list::<i32>().value(0);
    let numbers = spans.as_struct().column_by_name("message").unwrap().as_primitive::<Int32Type>();
    assert_eq!(numbers.values(), &[2, 3, 4, 5]);
    let rejected = process(5, TooLong::Truncate).rejected;
    assert!(rejected[0].found[0].message.contains("cannot be dropped"), "{:?}", rejected[0].found);
}

#[test]
fn dropped_input_is_rejected_unless_it_is_allowed() {
    let row = r#"{"messages":[{"role":"user","content":"Hi","conten":"sad"}]}"#;
    let chats: ArrayRef = Arc::new(StringArray::from(vec![row]));
    let table = batch(vec![("chat", chats)]);
    let processed = Kernel::new(to_harmony()).process(&table).unwrap();
    assert_eq!(processed.rejected[0].record, row.as_bytes());
    let found = &processed.rejected[0].found[0];
    assert_eq!(&row[found.span.range()], "\"conten\"");
    let mut options = to_harmony();
    options.consent.allow_all_drops();
    let processed = Kernel::new(options).process(&table).unwrap();
    assert_eq!((processed.rejected.len(), processed.tally.with_warnings), (0, 1));
    let mut options = convert_to("chatml-wire:text".parse().unwrap());
    options.consent = openchatml_data::record::Consent::no_loss();
    let named = r#"{"messages":[{"role":"user","name":"Eric","content":"Hi"}]}"#;
    let chats: ArrayRef = Arc::new(StringArray::from(vec![named]));
    let processed = Kernel::new(options).process(&batch(vec![("chat", chats)])).unwrap();
    assert_eq!(processed.rejected[0].found[0].code, openchatml::Code::Loss);
}

#[test]
fn threads_share_a_kernel() {
    let rows = conversations(50);
    let chats: ArrayRef = Arc::new(StringArray::from(rows));
    let table = batch(vec![("chat", chats)]);
    let kernel = Kernel::new(tokenize());
    let expected = kernel.process(&table).unwrap().batch;
    std::thread::scope(|scope| {
        let work =
            || (0..5).for_each(|_| assert_eq!(kernel.process(&table).unwrap().batch, expected));
        (0..4).for_each(|_| drop(scope.spawn(work)));
    });
    assert_eq!(
        expected.schema().field(0).data_type(),
        &DataType::List(Arc::new(Field::new("item", DataType::Int32, false)))
    );
}

#[test]
fn preference_pairs_go_to_json() {
    let rows = [r#"{"prompt":"2 + 2?","chosen":"4.","rejected":"5."}"#];
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(rows));
    let input = batch(vec![("chat", column)]);
    let pairs = kernel(Some("chat"), convert_to(Format::OPENAI)).process(&input).unwrap();
    let texts = texts(&pairs);
    assert!(texts[0].starts_with(r#"{"input":{"messages":["#), "{}", texts[0]);
    let text = kernel(Some("chat"), convert_to(Format::CHATML)).process(&input).unwrap();
    assert_eq!(text.rejected[0].row, 0);
}
