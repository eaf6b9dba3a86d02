//! `api/openapi.json` is what the code says, and the code says everything.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::{Map, Value};

    const HOW: &str = "UPDATE_OPENAPI=1 cargo nextest run -p askd --test openapi";

    fn document() -> Value {
        serde_json::to_value(askd_server::openapi_document()).unwrap()
    }

    /// Every operation with its method and path.
    fn operations(document: &Value) -> Vec<(String, Map<String, Value>)> {
        let paths = document["paths"].as_object().unwrap();
        let all = paths.iter().flat_map(|(path, item)| {
            let item = item.as_object().unwrap();
            item.iter().map(move |(method, operation)| {
                (format!("{method} {path}"), operation.as_object().unwrap().clone())
            })
        });
        all.collect()
    }

    #[test]
    fn the_checked_in_document_is_what_the_code_says() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../api/openapi.json");
        let mut made = serde_json::to_string_pretty(&askd_server::openapi_document()).unwrap();
        made.push('\n');
        if std::env::var("UPDATE_OPENAPI").is_ok_and(|value| value == "1") {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &made).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
        assert!(
            kept == made,
            "api/openapi.json is not what the code says (first at line {}); bring it up to date with:\n  {HOW}",
            differs.unwrap_or_else(|| kept.lines().count().min(made.lines().count())) + 1
        );
    }

    #[test]
    fn every_operation_is_named_described_and_guarded() {
        let document = document();
        let operations = operations(&document);
        assert!(operations.len() >= 15);
        let mut names: Vec<&str> = Vec::new();
        for (name, operation) in &operations {
            names.push(operation["operationId"].as_str().unwrap());
            let summary = operation.get("summary").or(operation.get("description"));
            assert!(
                summary.and_then(Value::as_str).is_some_and(|text| text.len() > 8),
                "{name} has no description"
            );
            assert!(operation["tags"].as_array().is_some_and(|tags| !tags.is_empty()), "{name} has no tag");
            let open = ["get /v1/health", "post /v1/login"].contains(&name.as_str());
            let security = operation.get("security").unwrap_or(&document["security"]).to_string();
            let wanted = if open { "[{}]" } else { r#"[{"token":[]}]"# };
            assert_eq!(security, wanted, "{name}");
            for parameter in operation.get("parameters").and_then(Value::as_array).unwrap_or(&Vec::new()) {
                let described = parameter["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(described, "{name}: {} has no description", parameter["name"]);
                assert!(!parameter["schema"].to_string().contains("null"), "{name}: {parameter}");
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "two operations have the same id");
        assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    }

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for name in found {
            assert!(
                document.pointer(name.trim_start_matches('#')).is_some(),
                "{name} is not in the document"
            );
        }
    }

    #[test]
    fn the_guide_has_a_curl_for_every_route() {
        let guide = include_str!("../../../docs/api.md");
        let shell = |path: &str| {
            let names = [
                ("{question_id}", "$ID"),
                ("{server_id}", "my-server"),
                ("{agent}", "opencode"),
                ("{link}", "$LINK"),
                ("/api/agents/{id}", "/api/agents/$SID"),
            ];
            let path = names.iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value));
            let id = match path.split('/').nth(2) {
                Some("sessions") => "$SID",
                Some("sources") => "$SRC",
                Some("tokens") => "$TOK",
                _ => "$ID",
            };
            path.replace("{id}", id)
        };
        for (path, _) in document()["paths"].as_object().unwrap() {
            let wanted = format!("$URL{}", shell(path));
            let other = wanted.replace("/reject", "/reply");
            assert!(guide.contains(&wanted) || guide.contains(&other), "docs/api.md shows no {wanted}");
        }
    }

    #[test]
    fn every_answer_is_documented_with_its_form() {
        let document = document();
        for (name, operation) in operations(&document) {
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{name} has no success");
            for (status, response) in responses {
                let response = match response["$ref"].as_str() {
                    Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
                    None => response,
                };
                assert!(
                    response["description"].as_str().is_some_and(|text| !text.is_empty()),
                    "{name} {status}"
                );
                if status.starts_with('2') {
                    continue;
                }
                let content = response["content"].as_object().unwrap_or_else(|| panic!("{name} {status}"));
                let forms: Vec<&String> = content.keys().collect();
                assert_eq!(forms, ["application/problem+json"], "{name} {status}");
                let schema = &content["application/problem+json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/Problem", "{name} {status}");
            }
            for status in ["400", "403", "405", "414", "431", "503"] {
                assert!(responses.contains_key(status), "{name} does not say that it may answer {status}");
            }
            if operation.contains_key("requestBody") {
                for status in ["413", "415"] {
                    assert!(
                        responses.contains_key(status),
                        "{name} does not say that it may answer {status}"
                    );
                }
            }
            let path = name.split(' ').nth(1).unwrap();
            assert!(!path.contains('{') || responses.contains_key("404"), "{name}: an id may be unknown");
        }
    }
}
