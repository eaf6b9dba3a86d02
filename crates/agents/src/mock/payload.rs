//! The mock's questions, as parameters of ACP requests.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Question,
    Multi,
    Two,
    Text,
    Secret,
    Form,
    Link,
    Permission,
    Plan,
    DemoAuth,
    DemoFeatures,
    DemoName,
    DemoDeploy,
    DemoPlan,
}

const QUESTION: &str = "_sandboxagent/session/request_question";
const ELICITATION: &str = "elicitation/create";
const PERMISSION: &str = "session/request_permission";

impl Ask {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Form | Self::Link => ELICITATION,
            Self::Permission | Self::Plan | Self::DemoPlan => PERMISSION,
            _ => QUESTION,
        }
    }

    /// The letter of its request ids.
    pub(super) fn letter(self) -> char {
        match self.method() {
            ELICITATION => 'e',
            PERMISSION => 'p',
            _ => 'q',
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Permission => "Write file",
            Self::Plan | Self::DemoPlan => "Ready to code?",
            _ => "Ask the user",
        }
    }

    /// The parameters; `n` numbers the request, and with it all the ids in it.
    pub(super) fn params(self, session: &str, n: u64) -> Value {
        let call = format!("call-{n}");
        let mut params = match self.method() {
            ELICITATION => self.elicitation(n),
            PERMISSION => self.permission(&call),
            _ => self.question(n),
        };
        if let Some(params) = params.as_object_mut() {
            params.insert("sessionId".to_owned(), json!(session));
            if self.method() != PERMISSION {
                params.insert("toolCallId".to_owned(), json!(call));
            }
        }
        params
    }

    fn question(self, n: u64) -> Value {
        let mut params = match self {
            Self::Multi => json!({
                "prompt": "Which features do you want?", "header": "Features", "multiple": true,
                "options": [["logging", "Logging"], ["metrics", "Metrics, traces"], ["alerts", "Alerts"]],
            }),
            Self::Two => json!({
                "prompt": "Which colour?",
                "questions": [
                    { "question": "Which colour?", "header": "Colour", "options": ["Red", "Green"] },
                    { "question": "Which sizes?", "header": "Sizes", "multiple": true, "options": ["S", "M", "L"] },
                ],
            }),
            Self::Text => {
                json!({ "prompt": "What should the project be called?", "header": "Name", "options": [] })
            }
            Self::Secret => {
                json!({ "prompt": "Which API key?", "header": "Key", "options": [], "secret": true })
            }
            Self::DemoAuth => json!({
                "prompt": "Which auth method should we use?", "header": "Auth method",
                "options": [
                    { "value": "jwt", "label": "JWT", "description": "Stateless tokens, signed by the API",
                      "preview": "Authorization: Bearer eyJhbGciOiJFZERTQSJ9...\n\nno session table; revoking needs a list" },
                    { "value": "sessions", "label": "Session cookies", "description": "Server-side sessions in Redis",
                      "preview": "Set-Cookie: sid=...; HttpOnly; Secure; SameSite=Lax\n\nrevoking is one DEL" },
                    { "value": "oauth2", "label": "OAuth2", "description": "Delegate to an identity provider",
                      "preview": "GET /authorize?response_type=code&...\n\nno passwords here at all" },
                ],
            }),
            Self::DemoFeatures => json!({
                "prompt": "Which features do you want to enable?", "header": "Features", "multiple": true,
                "options": [
                    { "label": "Logging", "description": "Structured logs of every request" },
                    { "label": "Metrics, traces", "description": "OpenTelemetry, off by default" },
                    { "label": "Rate limits", "description": "A token bucket per key" },
                ],
            }),
            Self::DemoName => json!({
                "prompt": "What should the project be called?", "header": "Project name", "options": [],
            }),
            Self::DemoDeploy => json!({
                "prompt": "Where will it run?",
                "questions": [
                    { "question": "Where will it run?", "header": "Target",
                      "options": [{ "label": "One server", "description": "systemd, one binary" },
                                  { "label": "Kubernetes", "description": "A chart and a probe" }] },
                    { "question": "Which checks must pass before a deployment?", "header": "Checks", "multiple": true,
                      "options": ["Unit tests", "Lints", "Load test"] },
                ],
            }),
            _ => json!({
                "prompt": "Which option?", "options": [["option-a", "Option A"], ["option-b", "Option B"]],
            }),
        };
        params["questionId"] = json!(format!("question-{n}"));
        params
    }

    fn elicitation(self, n: u64) -> Value {
        if self == Self::Link {
            let id = format!("link-{n}");
            return json!({ "mode": "url", "message": "Log in to go on", "elicitationId": id,
                "url": format!("https://example.org/login?state={n}") });
        }
        json!({
            "mode": "form", "message": "How should the service be set up?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "db": { "type": "string", "title": "Database", "description": "Where data is kept",
                        "oneOf": [{ "const": "pg", "title": "Postgres", "description": "Robust" },
                                  { "const": "sq", "title": "SQLite" }], "default": "pg" },
                    "features": { "type": "array", "title": "Features", "minItems": 1, "maxItems": 2,
                        "items": { "anyOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" },
                                             { "const": "c", "title": "C" }] }, "default": ["a"] },
                    "owner": { "type": "string", "title": "Owner", "format": "email" },
                    "replicas": { "type": "integer", "title": "Replicas", "minimum": 1, "maximum": 9, "default": 3 },
                    "ratio": { "type": "number", "title": "Ratio", "minimum": 0.0, "maximum": 1.0 },
                    "public": { "type": "boolean", "title": "Public", "default": false },
                    "since": { "type": "string", "title": "Since", "format": "date" },
                },
                "required": ["db", "replicas"],
            },
        })
    }

    fn permission(self, call: &str) -> Value {
        let plan = match self {
            Self::Permission => {
                return json!({
                    "toolCall": { "toolCallId": call, "title": "Write file", "kind": "edit", "status": "pending",
                        "content": [{ "type": "diff", "path": "src/main.rs", "oldText": "fn main() {}\n",
                                      "newText": "fn main() {\n    serve();\n}\n" }] },
                    "options": [
                        { "optionId": "allow-once", "name": "Allow", "kind": "allow_once" },
                        { "optionId": "allow-always", "name": "Always allow", "kind": "allow_always" },
                        { "optionId": "reject-once", "name": "Reject", "kind": "reject_once" },
                    ],
                });
            }
            Self::DemoPlan => {
                "# Plan\n\n1. Add the log-in as decided\n2. Wire the features behind flags\n3. Write the deployment files\n\
                 4. Tests for each step, then a pull request\n"
            }
            _ => "# Plan\n\n1. Do A\n2. Do B\n",
        };
        json!({
            "toolCall": { "toolCallId": call, "title": "Ready to code?", "kind": "switch_mode", "status": "pending",
                "content": [{ "type": "content", "content": { "type": "text", "text": plan } }],
                "rawInput": { "plan": plan } },
            "options": [
                { "optionId": "acceptEdits", "name": "Yes, and auto-accept edits", "kind": "allow_always" },
                { "optionId": "default", "name": "Yes, and manually approve edits", "kind": "allow_once" },
                { "optionId": "plan", "name": "No, keep planning", "kind": "reject_once" },
            ],
        })
    }
}
