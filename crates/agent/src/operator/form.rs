//! The form of an elicitation: its fields and what they hold before anybody
//! has touched them.

use serde_json::{Map, Value};

/// The form that an elicitation asks to be filled in.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    fields: &'a Map<String, Value>,
}

impl<'a> Form<'a> {
    /// The form in the parameters of an elicitation; `None` where it is no form (URL mode).
    pub fn of(params: &'a Value) -> Option<Self> {
        if params.get("mode").is_some_and(|mode| mode != "form") {
            return None;
        }
        let fields = params
            .get("requestedSchema")?
            .get("properties")?
            .as_object()?;
        Some(Self { fields })
    }

    /// Its fields, each with its schema, in the server's order.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.fields
            .iter()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    /// What the form holds at first: every default that the schema gives.
    pub fn defaults(self) -> Map<String, Value> {
        self.filled(Map::new())
    }

    /// `content` with the defaults of the fields that it leaves out.
    pub fn filled(self, mut content: Map<String, Value>) -> Map<String, Value> {
        for (name, schema) in self.fields {
            if let Some(default) = schema
                .get("default")
                .filter(|_| !content.contains_key(name))
            {
                content.insert(name.clone(), default.clone());
            }
        }
        content
    }
}
