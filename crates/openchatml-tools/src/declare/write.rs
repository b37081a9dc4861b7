//! Declares tools to the model.

use openchatml::declare::{Namespace, ToolPlace};
use openchatml::{Conversation, Data, Dialect, Header, Role, Settings, Tool, Value, function_name};

use crate::{Entry, Toolbox};

/// The namespaces that models were trained with. Their declarations are part of the format.
const BUILTINS: [fn() -> Namespace<'static>; 2] = [Namespace::browser, Namespace::python];

impl Toolbox {
    /// Returns the declarations of the functions, for `tools` of a conversation. The writer of each
    /// format writes them in its own way.
    ///
    /// ```
    /// use openchatml::{Conversation, RenderOptions, convert};
    /// use openchatml_tools::{Entry, Output, Toolbox, function};
    ///
    /// let mut tools = Toolbox::default();
    /// let mut entry = Entry::new(function(|_| async { Ok(Output::text("12:00")) }));
    /// entry.description = Some("The time.".to_owned());
    /// tools.insert("functions.now", entry)?;
    ///
    /// let mut conversation = Conversation::default();
    /// conversation.tools = tools.declare();
    /// let (document, options) = (conversation.into(), RenderOptions::default());
    /// let text = convert::convert(&document, "harmony".parse()?, &options)?.output;
    /// assert!(text.contains("// The time.\ntype now = () => any;"), "{text}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declare(&self) -> Vec<Tool<'static>> {
        let functions =
            self.iter().filter_map(|(name, entry)| Some(declaration(function_name(name)?, entry)));
        functions.collect()
    }

    /// Returns the built-in tools, `browser` and `python`, with the descriptions that the models
    /// were trained on, for the system message of Harmony. Functions of `browser` that are not in
    /// the toolbox are omitted.
    ///
    /// ```
    /// use openchatml_tools::{Entry, Output, Toolbox, function};
    ///
    /// let mut tools = Toolbox::default();
    /// tools.insert("python", Entry::new(function(|_| async { Ok(Output::text("4")) })))?;
    /// assert_eq!(tools.builtins()[0].name, "python");
    /// # Ok::<(), openchatml_tools::InvalidToolName>(())
    /// ```
    pub fn builtins(&self) -> Vec<Namespace<'static>> {
        let here = BUILTINS.iter().filter_map(|builtin| {
            let mut namespace = builtin();
            let is_bare = self.get(&namespace.name).is_some();
            let name = namespace.name.clone();
            namespace.tools.retain(|tool| self.get(&format!("{name}.{}", tool.name)).is_some());
            (is_bare || !namespace.tools.is_empty()).then_some(namespace)
        });
        here.collect()
    }

    /// Returns the tools of all other namespaces, for the developer message of Harmony. A tool
    /// without a namespace is omitted, because no format can declare it.
    ///
    /// ```
    /// use openchatml_tools::{Entry, Output, Toolbox, function};
    ///
    /// let mut tools = Toolbox::default();
    /// tools.insert("files.read", Entry::new(function(|_| async { Ok(Output::text("")) })))?;
    /// let namespaces = tools.namespaces();
    /// assert_eq!((namespaces[0].name.as_ref(), namespaces[0].tools.len()), ("files", 1));
    /// # Ok::<(), openchatml_tools::InvalidToolName>(())
    /// ```
    pub fn namespaces(&self) -> Vec<Namespace<'static>> {
        let mut namespaces: Vec<Namespace<'static>> = Vec::new();
        for (name, entry) in self.iter().filter(|(name, _)| function_name(name).is_none()) {
            let Some((space, name)) = name.split_once('.') else { continue };
            if BUILTINS.iter().any(|builtin| builtin().name == space) {
                continue;
            }
            let tool = declaration(name, entry);
            match namespaces.iter_mut().find(|it| it.name == space) {
                Some(namespace) => namespace.tools.push(tool),
                None => {
                    let mut namespace = Namespace::default();
                    namespace.name = space.to_owned().into();
                    namespace.tools.push(tool);
                    namespaces.push(namespace);
                }
            }
        }
        namespaces
    }

    /// Returns all tools that a model may call, by namespace: functions, built-in tools and others.
    /// Use it for the grammar of completions.
    ///
    /// ```
    /// use openchatml_tools::{Entry, Output, Toolbox, function};
    ///
    /// let mut tools = Toolbox::default();
    /// for name in ["python", "functions.now"] {
    ///     tools.insert(name, Entry::new(function(|_| async { Ok(Output::text("")) })))?;
    /// }
    /// let names: Vec<_> = tools.callable().into_iter().map(|it| it.name).collect();
    /// assert_eq!(names, ["functions", "python"]);
    /// # Ok::<(), openchatml_tools::InvalidToolName>(())
    /// ```
    pub fn callable(&self) -> Vec<Namespace<'static>> {
        let functions = Some(self.declare()).filter(|functions| !functions.is_empty());
        let functions = functions.map(Namespace::functions).into_iter();
        functions.chain(self.builtins()).chain(self.namespaces()).collect()
    }
}

impl Toolbox {
    /// Declares the tools in a conversation for this dialect. If the dialect has no declarations of
    /// its own, they go into the developer message as TypeScript types (OpenChatML 2.x) or into the
    /// system message as JSON.
    ///
    /// In OpenChatML 2.x, built-in tools are listed in the header. In Harmony, they are part of the
    /// system message: see [`builtins`](Self::builtins). Declaring the same tools again changes
    /// nothing.
    ///
    /// ```
    /// use openchatml::{Conversation, RenderOptions, dialects, render};
    /// use openchatml_tools::{Entry, Output, Toolbox, function};
    ///
    /// let mut tools = Toolbox::default();
    /// for name in ["functions.now", "python"] {
    ///     tools.insert(name, Entry::new(function(|_| async { Ok(Output::text("12:00")) })))?;
    /// }
    /// let mut conversation = Conversation::default();
    /// tools.declare_in(&mut conversation, &dialects::OPENCHATML_2_2);
    /// let text = render(&conversation.into(), "openchatml-2.2".parse()?, &RenderOptions::default())?;
    /// assert!(text.contains("builtin_tools: [python]"), "{text}");
    /// assert!(text.contains("namespace functions {\n\ntype now = () => any;"), "{text}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declare_in(&self, conversation: &mut Conversation<'_>, dialect: &Dialect) {
        let functions = Some(self.declare()).filter(|functions| !functions.is_empty());
        let functions = functions.map(Namespace::functions);
        let namespaces: Vec<_> = functions.into_iter().chain(self.namespaces()).collect();
        let has_others = namespaces.iter().any(|namespace| namespace.name != "functions");
        let place = match dialect.tools {
            // The tools of a conversation have no namespaces, but a developer message can declare
            // them.
            ToolPlace::Conversation if has_others && dialect.carries.declared_tools => {
                ToolPlace::Types(Role::Developer)
            }
            place => place,
        };
        if matches!(dialect.tools, ToolPlace::Types(_)) && dialect.carries.header {
            self.list_builtins(conversation, dialect);
        }
        place.declare(conversation, namespaces);
    }

    /// Lists the built-in tools in the header (`generation_settings.builtin_tools`).
    fn list_builtins(&self, conversation: &mut Conversation<'_>, dialect: &Dialect) {
        const SETTINGS: &str = "generation_settings";
        const BUILTIN_TOOLS: &str = "builtin_tools";
        let builtins = self.builtins();
        if builtins.is_empty() {
            return;
        }
        let version = dialect.id.trim_start_matches("openchatml-").to_owned();
        let header = conversation.header.get_or_insert_with(|| Header::new(version));
        let mut listed = Settings::read(header).0.builtin_tools;
        let before = listed.len();
        for builtin in builtins {
            if !listed.iter().any(|it| *it == builtin.name) {
                listed.push(builtin.name.into_owned());
            }
        }
        if listed.len() == before {
            return;
        }
        let list = Data::List(listed.into_iter().map(Value::from).collect()).into();
        let mut settings =
            header.get(SETTINGS).and_then(Value::as_map).unwrap_or_default().to_vec();
        match settings.iter_mut().find(|(key, _)| key == BUILTIN_TOOLS) {
            Some((_, value)) => *value = list,
            None => settings.push((BUILTIN_TOOLS.into(), list)),
        }
        header.insert(SETTINGS, Data::Map(settings).into());
    }
}

fn declaration(name: &str, entry: &Entry) -> Tool<'static> {
    let mut tool = Tool::new(name.to_owned());
    tool.description = entry.description.clone().map(Into::into);
    tool.parameters = entry.parameters.clone();
    tool
}
