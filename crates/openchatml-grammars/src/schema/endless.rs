//! Parts of a schema that no value satisfies, or only one without an end.

use super::{Id, Node, Schema};

/// Makes each node that no finite value satisfies one that allows nothing: a grammar of it could not end.
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

/// What a node needs a part for.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// The part must be there.
    Needed,
    /// The part may be there once.
    Counts,
    /// The part may be there any number of times.
    Repeats,
}

/// What a node still lacks before a finite value is known to satisfy it.
#[derive(Clone, Copy, Debug, Default)]
struct Lack {
    /// How many parts that must be there.
    needed: usize,
    /// How many parts, whichever they are.
    parts: usize,
}

/// For each node, whether a finite value satisfies it.
fn finite(schema: &Schema) -> Vec<bool> {
    let count = schema.entries.len();
    let mut lacks = vec![Lack::default(); count];
    let mut users: Vec<Vec<(Id, Use)>> = vec![Vec::new(); count];
    for (id, lack) in lacks.iter_mut().enumerate() {
        let mut uses = |part: Id, is: Use| {
            lack.needed += usize::from(matches!(is, Use::Needed));
            users[part].push((id, is));
        };
        lack.parts = match schema.node(id) {
            Node::Never => {
                lack.needed += 1;
                0
            }
            Node::Union(parts) => {
                parts.iter().for_each(|part| uses(*part, Use::Counts));
                1
            }
            Node::Object(object) => {
                for property in &object.properties {
                    let is_needed = property.is_required;
                    uses(property.value, if is_needed { Use::Needed } else { Use::Counts });
                }
                object.additional.iter().for_each(|part| uses(*part, Use::Repeats));
                object.count.least
            }
            Node::Array(array) => {
                let least = array.count.least;
                array.prefix.iter().take(least).for_each(|part| uses(*part, Use::Needed));
                let items = array.items.iter().filter(|_| least > array.prefix.len());
                items.for_each(|part| uses(*part, Use::Needed));
                0
            }
            _ => 0,
        };
    }
    let mut finite = vec![false; count];
    let has_all = |lack: &Lack| lack.needed == 0 && lack.parts == 0;
    let mut found: Vec<Id> = (0..count).filter(|id| has_all(&lacks[*id])).collect();
    while let Some(id) = found.pop() {
        if std::mem::replace(&mut finite[id], true) {
            continue;
        }
        for (user, is) in &users[id] {
            let lack = &mut lacks[*user];
            match is {
                Use::Needed => {
                    lack.needed -= 1;
                    lack.parts = lack.parts.saturating_sub(1);
                }
                Use::Counts => lack.parts = lack.parts.saturating_sub(1),
                Use::Repeats => lack.parts = 0,
            }
            if has_all(lack) {
                found.push(*user);
            }
        }
    }
    finite
}
