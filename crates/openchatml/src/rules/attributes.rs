//! Attributes of elements, as data.

use crate::control::Control;

/// The attributes of a call: ` tool="NAME" index="NUMBER"`.
///
/// In a value, `&` is written as `&amp;` and `"` as `&quot;`.
///
/// ```
/// use openchatml::dialects::{self, CallPiece, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::KIMI_K3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// let CallPiece::Attributes(attributes) = sections.calls.pieces[0] else {
///     unreachable!("calls begin with attributes")
/// };
/// assert_eq!((attributes.name, attributes.index), ("tool", "index"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallAttributes {
    /// The attribute with the name of the tool.
    pub name: &'static str,
    /// The attribute with the number of the call in its list, counted from 1.
    pub index: &'static str,
    /// The token after the attributes.
    pub end: Control,
}

/// The attributes of a parameter: ` key="NAME" type="TYPE"`.
///
/// In a value, `&` is written as `&amp;` and `"` as `&quot;`. The types are those of JSON.
///
/// ```
/// use openchatml::dialects::{self, CallPiece, Completion};
///
/// let Some(Completion::Sections(sections)) = dialects::KIMI_K3.completion() else {
///     unreachable!("its turns have sections")
/// };
/// let CallPiece::Parameters(parameters) = sections.calls.pieces[1] else {
///     unreachable!("parameters follow the attributes")
/// };
/// assert_eq!(parameters.attributes.map(|it| (it.name, it.kind)), Some(("key", "type")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterAttributes {
    /// The attribute with the name of the parameter.
    pub name: &'static str,
    /// The attribute with the type of the value.
    pub kind: &'static str,
}
