package schema

import (
	"encoding/json"
	"testing"
)

func TestNullsOfOptionalPropertiesAreDropped(t *testing.T) {
	const pets = `{"type":"object","required":["pet"],"properties":{"pet":{"anyOf":[` +
		`{"type":"object","required":["kind"],"properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}}},` +
		`{"type":"object","required":["kind"],"properties":{"kind":{"enum":["dog","wolf"]},"lives":{"type":["integer","null"]}}}]}}}`
	for _, tt := range []struct{ name, schema, text, want string }{
		{"optional", `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}`, ` {"a": null, "b": 1.50}`, `{"b":1.50}`},
		{"the only one", `{"properties":{"a":{"type":"string"}}}`, `{"a":null}`, `{}`},
		{"the last one, of large numbers", `{"properties":{"a":{"type":"string"}}}`, `{"z":[12345678901234567890, {"x<":"\u00e9,:"}],"a":null}`, `{"z":[12345678901234567890,{"x<":"\u00e9,:"}]}`},
		{"required", `{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a": null}`, `{"a": null}`},
		{"nullable", `{"properties":{"a":{"type":["null","string"]}}}`, `{"a": null}`, `{"a": null}`},
		{"of any type", `{"properties":{"a":true,"b":{}}}`, `{"a": null, "b": null}`, `{"a": null, "b": null}`},
		{"unknown", `{"properties":{"a":{"type":"string"}}}`, `{"b": null}`, `{"b": null}`},
		{"listed", `{"properties":{"a":{"enum":["x"]},"b":{"enum":["x",null]},"c":{"const":1},"d":{"const":null},"e":false}}`, `{"a":null,"b":null,"c":null,"d":null,"e":null}`, `{"b":null,"d":null}`},
		{"in lists", `{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{"b":null},{"b":"x"},null]}`, `{"a":[{},{"b":"x"},null]}`},
		{"in pairs", `{"properties":{"a":{"prefixItems":[{"properties":{"b":{"type":"string"}}}],"items":{"type":"object"}}}}`, `{"a":[{"b":null},{"b":null}]}`, `{"a":[{},{"b":null}]}`},
		{"in other properties", `{"additionalProperties":{"properties":{"b":{"type":"string"}}}}`, `{"a":{"b":null}}`, `{"a":{}}`},
		{"by reference", `{"properties":{"next":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`, `{"next":{"next":{"next":null}}}`, `{"next":{"next":{}}}`},
		{"a reference that takes null", `{"properties":{"next":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":["object","null"]}}}`, `{"next": null}`, `{"next": null}`},
		{"all of", `{"allOf":[{"properties":{"a":{"allOf":[{"type":"string"}]}}}]}`, `{"a":null}`, `{}`},
		{"one of", `{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]},"b":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null,"b":null}`, `{"b":null}`},
		{"any of", `{"properties":{"a":{"anyOf":[{"type":"string"}]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null,"b":null}`, `{"b":null}`},
		{"the alternative that it is", pets, `{"pet":{"kind":"cat","lives":null}}`, `{"pet":{"kind":"cat"}}`},
		{"the other one", pets, `{"pet":{"kind":"wolf","lives":null}}`, `{"pet":{"kind":"wolf","lives":null}}`},
		{"neither", pets, `{"pet":{"kind":"cow","lives":null}}`, `{"pet":{"kind":"cow","lives":null}}`},
		{"without what an alternative must have", `{"anyOf":[{"required":["x"],"properties":{"a":{"type":["string","null"]}}},{"properties":{"a":{"type":"string"}}}]}`, `{"a":null}`, `{}`},
		{"of an alternative's reference", `{"anyOf":[{"$ref":"#/$defs/x"},{"properties":{"a":{"type":"string"}}}],"$defs":{"x":{"type":"string","properties":{"a":true}}}}`, `{"a":null}`, `{}`},
		{"of an alternative's parts", `{"anyOf":[{"allOf":[{"type":"string"}],"properties":{"a":true}},{"properties":{"a":{"type":"string"}}}]}`, `{"a":null}`, `{}`},
		{"said twice", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x","a":null,"b":1}`, `{"b":1}`},
		{"said twice, otherwise", `{"properties":{"a":{"type":"string"}}}`, `{"b":{"c":1},"b":[1],"b":2,"a":null}`, `{"b":{},"b":[1],"b":2}`},
		{"no JSON", `{"properties":{"a":{"type":"string"}}}`, `{"a":null`, `{"a":null`},
		{"null alone", `{"properties":{"a":{"type":"string"}}}`, `null`, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Read(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.DropNulls(json.RawMessage(tt.text))); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
