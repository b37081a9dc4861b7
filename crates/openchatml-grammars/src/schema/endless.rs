//! Removes parts of a schema that no finite value satisfies.

use super::{Id, Node, Schema};

/// Replaces each node that no finite value satisfies by one that allows nothing, because its
/// grammar could not end.
pub(super) fn prune(schema: &mut Schema) {
    let finite = finite(schema);
    for (id, entry) in schema.entries.iter_mut().enumerate() {
        match &mut entry.node {
            node if !finite[id] => {
                *node = Node::Never;
                entry.is_named = false;
            }
            Node::Union(parts) => parts.retain(|part| finite[*part]),
            Node::Object(object) => object.additional = object.additional.filter(|it| finite[*it]),
            Node::Array(array) => {
                if let Some(end) = array.prefix.iter().position(|item| !finite[*item]) {
                    array.prefix.truncate(end);
                    array.count.most = Some(array.count.most.map_or(end, |most| most.min(end)));
                }
                array.items = array.items.filter(|it| finite[*it]);
            }
            _ => {}
        }
    }
}

/// How a node uses a part.
#[derive(Clone, Copy, Debug)]
enum PartUse {
    /// The part is required.
    Needed,
    /// The part may occur once.
    Counts,
    /// The part may occur any number of times.
    Repeats,
}

/// The parts that a node still needs before a finite value is known to satisfy it.
#[derive(Clone, Copy, Debug, Default)]
struct MissingParts {
    /// The number of required parts.
    needed: usize,
    /// The number of parts of any kind.
    parts: usize,
}

/// Returns for each node whether a finite value satisfies it.
fn finite(schema: &Schema) -> Vec<bool> {
    let count = schema.entries.len();
    let mut lacks = vec![MissingParts::default(); count];
    let mut users: Vec<Vec<(Id, PartUse)>> = vec![Vec::new(); count];
    for (id, lack) in lacks.iter_mut().enumerate() {
        let mut uses = |part: Id, is: PartUse| {
            lack.needed += usize::from(matches!(is, PartUse::Needed));
            users[part].push((id, is));
        };
        lack.parts = match schema.node(id) {
            Node::Never => {
                lack.needed += 1;
                0
            }
            Node::Union(parts) => {
                parts.iter().for_each(|part| uses(*part, PartUse::Counts));
                1
            }
            Node::Object(object) => {
                for property in &object.properties {
                    let is_needed = property.is_required;
                    uses(property.value, if is_needed { PartUse::Needed } else { PartUse::Counts });
                }
                object.additional.iter().for_each(|part| uses(*part, PartUse::Repeats));
                object.count.least
            }
            Node::Array(array) => {
                let least = array.count.least;
                array.prefix.iter().take(least).for_each(|part| uses(*part, PartUse::Needed));
                let items = array.items.iter().filter(|_| least > array.prefix.len());
                items.for_each(|part| uses(*part, PartUse::Needed));
                0
            }
            _ => 0,
        };
    }
    let mut finite = vec![false; count];
    let has_all = |lack: &MissingParts| lack.needed == 0 && lack.parts == 0;
    let mut found: Vec<Id> = (0..count).filter(|id| has_all(&lacks[*id])).collect();
    while let Some(id) = found.pop() {
        if std::mem::replace(&mut finite[id], true) {
            continue;
        }
        for (user, is) in &users[id] {
            let lack = &mut lacks[*user];
            match is {
                PartUse::Needed => {
                    lack.needed -= 1;
                    lack.parts = lack.parts.saturating_sub(1);
                }
                PartUse::Counts => lack.parts = lack.parts.saturating_sub(1),
                PartUse::Repeats => lack.parts = 0,
            }
            if has_all(lack) {
                found.push(*user);
            }
        }
    }
    finite
}
