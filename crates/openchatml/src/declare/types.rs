//! The types that a schema allows.

use std::cell::Cell;

use super::schema::{is_nullable, resolve, text};
use crate::json::{Data, Value};
use crate::model::Tool;

/// A set of types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

/// The maximum number of schemas that are read for one parameter. References can refer to each other.
const MOST: usize = 256;

/// Whether a tool declares a parameter with this name. `None` if it does not say which parameters it
/// has.
pub(crate) fn declares(tool: &Tool<'_>, name: &str) -> Option<bool> {
    let properties = tool.parameters.as_ref()?.get("properties")?;
    Some(properties.get(name).is_some())
}

/// A step to a value inside of arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'p> {
    /// To the member of an object with this key.
    Key(&'p str),
    /// To an item of a list.
    Item,
}

impl Step<'_> {
    /// Returns the schema of what is behind this step, if `schema` contains one.
    fn schema<'s, 'a>(self, schema: &'s Value<'a>) -> Option<&'s Value<'a>> {
        match self {
            Self::Key(key) => {
                let property = schema.get("properties").and_then(|all| all.get(key));
                property.or_else(|| schema.get("additionalProperties"))
            }
            Self::Item => schema.get("items"),
        }
    }
}

/// Adds a schema and the parts that it consists of to `all`.
fn alternatives<'s, 'a>(
    root: &'s Value<'a>,
    schema: &'s Value<'a>,
    left: &Cell<usize>,
    all: &mut Vec<&'s Value<'a>>,
) {
    let Some(rest) = left.get().checked_sub(1) else { return };
    left.set(rest);
    if let Some(target) = text(schema, "$ref").and_then(|it| resolve(root, it)) {
        return alternatives(root, target, left, all);
    }
    all.push(schema);
    for key in ["anyOf", "oneOf", "allOf"] {
        let parts = schema.get(key).and_then(Value::as_list).into_iter().flatten();
        parts.for_each(|part| alternatives(root, part, left, all));
    }
}

impl Types {
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(1 << 1);
    pub(crate) const BOOLEAN: Self = Self(1 << 2);
    pub(crate) const NULL: Self = Self(1 << 3);
    pub(crate) const ARRAY: Self = Self(1 << 4);
    pub(crate) const OBJECT: Self = Self(1 << 5);
    pub(crate) const ANY: Self = Self(0b11_1111);
    /// All types of a value that is written as JSON.
    pub(crate) const JSON: Self = Self(0b11_1110);

    /// Whether it contains this type.
    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// Returns the types that a parameter of a tool can have. Of an unknown one, these are all.
    pub(crate) fn of(tool: Option<&Tool<'_>>, parameter: &str) -> Self {
        let Some(root) = tool.and_then(|tool| tool.parameters.as_ref()) else { return Self::ANY };
        let property = root.get("properties").and_then(|all| all.get(parameter));
        let schema = property.or_else(|| root.get("additionalProperties"));
        schema.map_or(Self::ANY, |schema| Self::of_schema(root, schema, &Cell::new(MOST)))
    }

    /// Returns the types that a value inside of the arguments of a tool can have. `path` are the steps
    /// to it. The schema of a value that it does not describe allows all types.
    pub(crate) fn at<'p>(tool: Option<&Tool<'_>>, path: impl Iterator<Item = Step<'p>>) -> Self {
        let Some(root) = tool.and_then(|tool| tool.parameters.as_ref()) else { return Self::ANY };
        let left = Cell::new(MOST);
        let mut schemas = vec![root];
        for step in path {
            let mut all = Vec::new();
            schemas.iter().for_each(|schema| alternatives(root, schema, &left, &mut all));
            schemas = all.into_iter().filter_map(|schema| step.schema(schema)).collect();
        }
        let types = schemas.iter().map(|schema| Self::of_schema(root, schema, &left));
        let types = types.fold(Self(0), |one, two| Self(one.0 | two.0));
        if types == Self(0) { Self::ANY } else { types }
    }

    fn of_schema(root: &Value<'_>, schema: &Value<'_>, left: &Cell<usize>) -> Self {
        let Some(rest) = left.get().checked_sub(1) else { return Self::ANY };
        left.set(rest);
        let inner = |schema: &Value<'_>| Self::of_schema(root, schema, left);
        if let Some(target) = text(schema, "$ref").and_then(|it| resolve(root, it)) {
            return inner(target);
        }
        let mut types = Self::declared(schema);
        for key in ["anyOf", "oneOf"] {
            if let Some(all) = schema.get(key).and_then(Value::as_list) {
                let either = all.iter().map(inner).fold(Self(0), |one, two| Self(one.0 | two.0));
                types.0 &= either.0;
            }
        }
        for part in schema.get("allOf").and_then(Value::as_list).into_iter().flatten() {
            types.0 &= inner(part).0;
        }
        if is_nullable(schema) {
            types.0 |= Self::NULL.0;
        }
        // A contradiction declares nothing.
        if types == Self(0) { Self::ANY } else { types }
    }

    /// The types that the keywords of a schema name.
    fn declared(schema: &Value<'_>) -> Self {
        let named = |value: &Value<'_>| value.as_str().map_or(Self(0), Self::named);
        match schema.get("type") {
            Some(Value { data: Data::List(all), .. }) => {
                return all.iter().map(named).fold(Self(0), |one, two| Self(one.0 | two.0));
            }
            Some(name) => return named(name),
            None => {}
        }
        let values = schema.get("enum").and_then(Value::as_list);
        let values = values.or_else(|| schema.get("const").map(std::slice::from_ref));
        match values {
            Some(values) => {
                values.iter().map(Self::of_value).fold(Self(0), |one, two| Self(one.0 | two.0))
            }
            None if schema.get("properties").is_some() => Self::OBJECT,
            None if schema.get("items").is_some() => Self::ARRAY,
            None => Self::ANY,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" | "integer" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    fn of_value(value: &Value<'_>) -> Self {
        match value.data {
            Data::String(_) => Self::STRING,
            Data::Number(_) => Self::NUMBER,
            Data::Bool(_) => Self::BOOLEAN,
            Data::Null => Self::NULL,
            Data::List(_) => Self::ARRAY,
            Data::Map(_) => Self::OBJECT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Step, Types};
    use crate::json::Value;
    use crate::limits::Limits;
    use crate::model::Tool;

    #[test]
    fn the_types_of_a_parameter_follow_from_its_schema() {
        let limits = Limits::default();
        let types = |schema: &str| {
            let text = format!(
                r##"{{"properties":{{"x":{schema}}},"$defs":{{"D":{{"type":"array"}}}}}}"##
            );
            let mut tool = Tool::new("f");
            tool.parameters =
                Some(Value::from_json(&text, &limits).expect("a schema").into_owned());
            Types::of(Some(&tool), "x")
        };
        let either = |one: Types, two: Types| Types(one.0 | two.0);
        for (schema, expected) in [
            (r#"{"type":"string"}"#, Types::STRING),
            (r#"{"type":"integer"}"#, Types::NUMBER),
            (r#"{"type":["string","null"]}"#, either(Types::STRING, Types::NULL)),
            (r#"{"type":"string","nullable":true}"#, either(Types::STRING, Types::NULL)),
            (r#"{"enum":["a","b"]}"#, Types::STRING),
            (r#"{"const":1}"#, Types::NUMBER),
            (
                r#"{"anyOf":[{"type":"boolean"},{"type":"object"}]}"#,
                either(Types::BOOLEAN, Types::OBJECT),
            ),
            (r##"{"$ref":"#/$defs/D"}"##, Types::ARRAY),
            (r#"{"allOf":[{"type":"string"},{}]}"#, Types::STRING),
            (r#"{"properties":{}}"#, Types::OBJECT),
            (r#"{"items":{}}"#, Types::ARRAY),
            (r#"{"type":"string","enum":[1]}"#, Types::STRING),
            (r#"{"allOf":[{"type":"string"},{"type":"null"}]}"#, Types::ANY),
            ("{}", Types::ANY),
            ("true", Types::ANY),
        ] {
            assert_eq!(types(schema), expected, "{schema}");
        }
        assert_eq!(Types::of(None, "x"), Types::ANY);
        let mut root = Tool::new("f");
        let schema = r##"{"$ref":"#/properties/x"}"##;
        let text = format!(r#"{{"properties":{{"x":{schema}}}}}"#);
        root.parameters = Some(Value::from_json(&text, &limits).expect("a schema").into_owned());
        assert_eq!(Types::of(Some(&root), "x"), Types::ANY);
    }
    #[test]
    fn the_types_of_an_inner_value_follow_from_its_schema() {
        let schema = r##"{
            "properties": {
                "list": {"type": "array", "items": {"$ref": "#/$defs/D"}},
                "either": {"anyOf": [{"type": "string"}, {"properties": {"n": {"type": "number"}}}]},
                "same": {"oneOf": [{"properties": {"n": {"type": "string"}}}, {"properties": {"n": {"type": "string"}}}]},
                "map": {"additionalProperties": {"type": "boolean"}},
                "loop": {"$ref": "#/properties/loop"}
            },
            "$defs": {"D": {"properties": {"id": {"type": "string"}}}}
        }"##;
        let limits = Limits::default();
        let schema = Value::from_json(schema, &limits).expect("a schema").into_owned();
        let tool = Tool::new("f").with_parameters(schema);
        let types = |path: &[Step<'_>]| Types::at(Some(&tool), path.iter().copied());
        let key = Step::Key;
        assert_eq!(types(&[]), Types::OBJECT);
        assert_eq!(types(&[key("list")]), Types::ARRAY);
        assert_eq!(types(&[key("list"), Step::Item]), Types::OBJECT);
        assert_eq!(types(&[key("list"), Step::Item, key("id")]), Types::STRING);
        assert_eq!(types(&[key("list"), key("id")]), Types::ANY);
        assert_eq!(types(&[key("either")]), Types(Types::STRING.0 | Types::OBJECT.0));
        assert_eq!(types(&[key("either"), key("n")]), Types::NUMBER);
        assert_eq!(types(&[key("same"), key("n")]), Types::STRING);
        assert_eq!(types(&[key("map"), key("x")]), Types::BOOLEAN);
        assert_eq!(types(&[key("loop"), key("x")]), Types::ANY);
        assert_eq!(types(&[key("other")]), Types::ANY);
        assert_eq!(Types::at(None, [key("list")].into_iter()), Types::ANY);
    }
}
