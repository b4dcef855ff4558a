package strict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// choice is a text, or a list of parts, each of which may have parts.
type choice []part

type part struct {
	Text  *string `json:"text,omitempty"`
	Parts choice  `json:"parts,omitempty"`
}

func (c *choice) UnmarshalStrict(v strict.Value) error {
	switch v.First() {
	case '"':
		var text string
		err := v.Decode(&text)
		*c = choice{{Text: &text}}
		return err
	case '[':
		return v.Decode((*[]part)(c))
	case 'n':
		*c = choice{}
		return nil
	case '{':
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := v.Decode(&kind); err != nil {
			return v.Decode(&struct{ Other int }{})
		}
		return core.Errorf(core.CodeUnsupported, "kind %q of %s is not supported", kind.Kind, v.Raw())
	}
	return v.Want("a text or parts")
}

type chosen struct {
	Before string `json:"before"`
	Choice choice `json:"choice" strict:"null"`
	After  string `json:"after"`
}

func TestATypeOfSeveralForms(t *testing.T) {
	text := "x"
	for from, want := range map[string]choice{
		`"x"`:  {{Text: &text}},
		`[]`:   {},
		`null`: {},
		`[{"text":"x"},{"parts":[{"parts":"x"}]},{"parts":null}]`: {{Text: &text}, {Parts: choice{{Parts: choice{{Text: &text}}}}}, {Parts: choice{}}},
	} {
		var got chosen
		err := strict.Decode([]byte(`{"before":"b", "choice" : `+from+` , "after":"a"}`), &got)
		if diff := cmp.Diff(chosen{"b", want, "a"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", from, err, diff)
		}
	}
}

func TestWhatIsWrongInATypeOfSeveralForms(t *testing.T) {
	for _, tt := range []struct {
		text, want, path string
		offset           int
		code             core.Code
	}{
		{`{"choice":7}`, "choice is 7, want a text or parts", "choice", 10, core.CodeInvalid},
		{`{"choice":[{"parts":[{},{"txt":1}]}]}`, `unknown field "txt" in choice[0].parts[1], did you mean "text"?`, "choice[0].parts[1].txt", 25, core.CodeInvalid},
		{`{"choice":[{"parts":{"kind":"k"}}]}`, `choice[0].parts: kind "k" of {"kind":"k"} is not supported`, "choice[0].parts", 20, core.CodeUnsupported},
		{`{"choice":{"kinds":1}}`, `unknown field "kinds" in choice, allowed are Other`, "choice.kinds", 11, core.CodeInvalid},
		{`{"choice":[{"parts":null}]}`, "choice[0].parts is null, want a list", "choice[0].parts", 20, core.CodeInvalid},
		{`{"choice":null,"choice":""}`, "choice is given twice", "choice", 15, core.CodeInvalid},
	} {
		var got chosen
		err := strict.Options{NoNull: true}.Decode([]byte(tt.text), &got)
		check(t, err, tt.want, tt.path, tt.offset)
		if code := core.CodeOf(err); code != tt.code {
			t.Errorf("%s: code %s", tt.text, code)
		}
	}
	// As a whole, and as deep as allowed.
	check(t, strict.Decode([]byte(`7`), new(choice)), "value is 7, want a text or parts", "", 0)
	const in, out = `[{"parts":`, `}]`
	if err := (strict.Options{MaxDepth: 4}).Decode([]byte(in+in+`""`+out+out), new(choice)); err != nil {
		t.Error(err)
	}
	if err := (strict.Options{MaxDepth: 4}).Decode([]byte(in+in+`[]`+out+out), new(choice)); err == nil {
		t.Error("five deep is taken")
	}
}

// tolerant takes what it cannot decode, too.
type tolerant struct{ a int }

func (t *tolerant) UnmarshalStrict(v strict.Value) error {
	var known struct {
		A [][]int
	}
	if v.Decode(&known) == nil {
		t.a = len(known.A)
	}
	return nil
}

func TestATypeMayTakeWhatItCannotDecode(t *testing.T) {
	var got []tolerant
	err := strict.Options{MaxDepth: 4}.Decode([]byte(`[{"A":[[],["x"]]},{"B":1},{"A":[[1],[2]]},7]`), &got)
	if diff := cmp.Diff([]tolerant{{}, {}, {2}, {}}, got, cmp.AllowUnexported(tolerant{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
