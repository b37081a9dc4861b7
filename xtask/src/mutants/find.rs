//! Finds the places of changes in a file.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, GenericArgument, PathArguments, ReturnType, Type, UnOp};

use super::Mutant;
use super::edit::{Edit, Form, Number, Place};

/// The changes of a file, and their places.
#[derive(Default)]
pub(super) struct Found {
    pub(super) mutants: Vec<Mutant>,
    pub(super) places: Vec<Place>,
}

/// Returns the changes of a file. Their numbers begin with `first`.
pub(super) fn find(file: &str, source: &str, first: Number) -> Result<Found, syn::Error> {
    let parsed = syn::parse_file(source)?;
    let mut finder = Finder {
        file,
        source,
        first,
        function: String::new(),
        version: 0,
        owner: String::new(),
        found: Found::default(),
    };
    finder.visit_file(&parsed);
    let mut found = finder.found;
    let mut counts = HashMap::new();
    for mutant in &mut found.mutants {
        let count = counts.entry((mutant.function.clone(), mutant.change.clone())).or_insert(0);
        mutant.before = *count;
        *count += 1;
    }
    found.places.sort_by_key(|it| (it.range.start, std::cmp::Reverse(it.range.end)));
    Ok(found)
}

struct Finder<'s> {
    file: &'s str,
    source: &'s str,
    first: Number,
    /// The current function, or nothing in a constant.
    function: String,
    /// The hash of the current function.
    version: u64,
    /// The type and its trait, around functions.
    owner: String,
    found: Found,
}

impl Finder<'_> {
    fn add(&mut self, at: &impl Spanned, change: String) -> Number {
        let line = at.span().start().line;
        let function = self.function.clone();
        let number = self.first + self.found.mutants.len() as Number;
        let (file, version) = (self.file.to_owned(), self.version);
        let mutant = Mutant { file, line, function, change, before: 0, version };
        self.found.mutants.push(mutant);
        number
    }

    fn place(&mut self, range: Range<usize>, edit: Edit) {
        self.found.places.push(Place { range, edit });
    }

    fn text(&self, of: &impl Spanned) -> String {
        let text = &self.source[range(of)];
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Visits a function.
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some() {
            return;
        }
        let before = (std::mem::take(&mut self.function), self.version);
        self.version = hash(&format!("{}{}", self.text(signature), self.text(block)));
        let owner = &self.owner;
        let joint = if owner.is_empty() { "" } else { "::" };
        self.function = format!("{owner}{joint}{}", signature.ident);
        let is_default = signature.ident == "default" && owner.contains("Default");
        if !is_default && !block.stmts.is_empty() {
            let body = self.text(block);
            let values = match &signature.output {
                ReturnType::Default => vec!["()".to_owned()],
                ReturnType::Type(_, kind) => values(kind),
            };
            let values = values.into_iter().filter(|value| body != format!("{{ {value} }}"));
            let values = values.map(|value| {
                let change = format!("returns {value}");
                (self.add(&signature.ident, change), value)
            });
            let values: Vec<_> = values.collect();
            let start = range(block).start + 1;
            self.place(start..start, Edit::Return(values));
        }
        visit::visit_block(self, block);
        (self.function, self.version) = before;
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        let Some((own, form, others)) = others_of(&binary.op) else { return };
        if contains_let(&binary.left) || contains_let(&binary.right) {
            return;
        }
        let add = |other: &&'static str| {
            (self.add(&binary.op, format!("`{own}` becomes `{other}`")), *other)
        };
        let others: Vec<_> = others.iter().map(add).collect();
        let (left, right) = (range(&binary.left), range(&binary.right));
        let number = others[0].0;
        let edit = match binary.op {
            BinOp::Eq(_) | BinOp::Ne(_) => Edit::Equal { number, operator: own, left, right },
            BinOp::And(_) => Edit::Logic { number, is_and: true, left, right },
            BinOp::Or(_) => Edit::Logic { number, is_and: false, left, right },
            _ => Edit::Operator { form, others, own, left, right },
        };
        self.place(range(binary), edit);
    }

    fn arms(&mut self, matched: &syn::ExprMatch) {
        let is_rest = |arm: &&syn::Arm| matches!(arm.pat, syn::Pat::Wild(_));
        let has_rest = matched.arms.iter().any(|arm| is_rest(&arm));
        for arm in &matched.arms {
            let removed = (has_rest && !is_rest(&arm)).then(|| {
                let change = format!("without the arm `{}`", self.text(&arm.pat));
                self.add(&arm.pat, change)
            });
            let guard = match &arm.pat {
                syn::Pat::Guard(pattern) => Some(&pattern.guard),
                _ => None,
            };
            match (guard, removed) {
                (Some(guard), _) if contains_let(guard) => {}
                (Some(guard), removed) => {
                    let text = self.text(guard.as_ref());
                    let yes = self.add(guard, format!("the guard `{text}` is `true`"));
                    let no = self.add(guard, format!("the guard `{text}` is `false`"));
                    self.place(range(guard.as_ref()), Edit::Guard { removed, yes, no });
                }
                (None, Some(removed)) => {
                    let end = range(&arm.pat).end;
                    self.place(end..end, Edit::Arm(removed));
                }
                (None, None) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let kind = self.text(item.self_ty.as_ref());
        let name = match &item.trait_ {
            Some((path, _)) => format!("<{kind} as {}>", self.text(path)),
            None => kind,
        };
        let before = std::mem::replace(&mut self.owner, name);
        visit::visit_item_impl(self, item);
        self.owner = before;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            let owner = std::mem::take(&mut self.owner);
            self.function(&item.sig, &item.block);
            self.owner = owner;
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }

    // Changes of constants cannot be switched.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Guard(pattern) = pattern {
            visit::visit_expr(self, &pattern.guard);
        }
    }
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        // Closures of statics run later, everything else is constant.
        let before = std::mem::take(&mut self.function);
        visit::visit_item_static(self, item);
        self.function = before;
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let is_outside = self.function.is_empty();
        if is_outside {
            "a closure".clone_into(&mut self.function);
            self.version = hash(&self.text(closure));
        }
        visit::visit_expr(self, &closure.body);
        if is_outside {
            self.function.clear();
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if !self.function.is_empty() {
            self.binary(binary);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let inner = range(unary.expr.as_ref());
        if !self.function.is_empty() && !contains_let(&unary.expr) {
            match unary.op {
                UnOp::Not(_) => {
                    let number = self.add(unary, "without `!`".to_owned());
                    self.place(range(unary), Edit::Not { number, inner });
                }
                UnOp::Neg(_) => {
                    let number = self.add(unary, "without `-`".to_owned());
                    self.place(range(unary), Edit::Negative { number, inner });
                }
                _ => {}
            }
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        if !self.function.is_empty() {
            self.arms(matched);
        }
        visit::visit_expr_match(self, matched);
    }
}

/// Returns a hash (FNV-1a) that is the same in every build.
fn hash(text: &str) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}

fn range(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|it| it == "test")
    })
}

/// Whether a condition contains `let` outside of blocks.
fn contains_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => contains_let(&binary.left) || contains_let(&binary.right),
        Expr::Paren(paren) => contains_let(&paren.expr),
        Expr::Unary(unary) => contains_let(&unary.expr),
        _ => false,
    }
}

/// How an operator is spelled and written, and what it can become.
type Operator = (&'static str, Form, &'static [&'static str]);

fn others_of(operator: &BinOp) -> Option<Operator> {
    use Form::{Assign, Calculate, Compare};
    Some(match operator {
        BinOp::Eq(_) => ("==", Compare, &["!="]),
        BinOp::Ne(_) => ("!=", Compare, &["=="]),
        BinOp::And(_) => ("&&", Calculate, &["||"]),
        BinOp::Or(_) => ("||", Calculate, &["&&"]),
        BinOp::Lt(_) => ("<", Compare, &["==", ">", "<="]),
        BinOp::Le(_) => ("<=", Compare, &[">", "<"]),
        BinOp::Gt(_) => (">", Compare, &["==", "<", ">="]),
        BinOp::Ge(_) => (">=", Compare, &["<", ">"]),
        BinOp::Add(_) => ("+", Calculate, &["-", "*"]),
        BinOp::Sub(_) => ("-", Calculate, &["+", "/"]),
        BinOp::Mul(_) => ("*", Calculate, &["+", "/"]),
        BinOp::Div(_) => ("/", Calculate, &["%", "*"]),
        BinOp::Rem(_) => ("%", Calculate, &["/", "+"]),
        BinOp::BitAnd(_) => ("&", Calculate, &["|", "^"]),
        BinOp::BitOr(_) => ("|", Calculate, &["&", "^"]),
        BinOp::BitXor(_) => ("^", Calculate, &["|", "&"]),
        BinOp::Shl(_) => ("<<", Calculate, &[">>"]),
        BinOp::Shr(_) => (">>", Calculate, &["<<"]),
        BinOp::AddAssign(_) => ("+=", Assign, &["-=", "*="]),
        BinOp::SubAssign(_) => ("-=", Assign, &["+=", "/="]),
        BinOp::MulAssign(_) => ("*=", Assign, &["+=", "/="]),
        BinOp::BitAndAssign(_) => ("&=", Assign, &["|="]),
        BinOp::BitOrAssign(_) => ("|=", Assign, &["&="]),
        _ => return None,
    })
}

/// Returns values of a type.
fn values(kind: &Type) -> Vec<String> {
    let default = || vec!["Default::default()".to_owned()];
    match kind {
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return default() };
            let inner = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => {
                    let kinds = arguments.args.iter().filter_map(|it| match it {
                        GenericArgument::Type(kind) => Some(kind),
                        _ => None,
                    });
                    kinds.collect()
                }
                _ => Vec::new(),
            };
            let of = |name: &str, left: &str, right: &str| {
                let inner = inner.first().map(|kind| values(kind)).unwrap_or_default();
                inner.into_iter().map(|it| format!("{name}{left}{it}{right}")).collect::<Vec<_>>()
            };
            match last.ident.to_string().as_str() {
                "bool" => vec!["true".to_owned(), "false".to_owned()],
                "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => {
                    vec!["0".to_owned(), "1".to_owned()]
                }
                "f32" | "f64" => vec!["0.0".to_owned(), "1.0".to_owned()],
                "String" => vec!["String::new()".to_owned(), "\"xyzzy\".into()".to_owned()],
                "Option" => [vec!["None".to_owned()], of("Some", "(", ")")].concat(),
                "Result" => of("Ok", "(", ")"),
                "Vec" => [vec!["vec![]".to_owned()], of("vec!", "[", "]")].concat(),
                "Box" => of("Box::new", "(", ")"),
                _ => default(),
            }
        }
        Type::Reference(reference) => match reference.elem.as_ref() {
            Type::Path(path) if path.path.is_ident("str") => {
                vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()]
            }
            _ if reference.mutability.is_some() => Vec::new(),
            Type::Slice(_) => vec!["&[]".to_owned()],
            _ => vec!["Box::leak(Box::new(Default::default()))".to_owned()],
        },
        Type::Tuple(tuple) if tuple.elems.is_empty() => vec!["()".to_owned()],
        Type::Tuple(tuple) => {
            let first = |kind| values(kind).into_iter().next();
            let parts: Option<Vec<_>> = tuple.elems.iter().map(first).collect();
            parts.map(|parts| format!("({})", parts.join(", "))).into_iter().collect()
        }
        Type::Never(_) | Type::ImplTrait(_) => Vec::new(),
        _ => default(),
    }
}
