package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reveille-run/reveille/adapters/trigger/incoming"
	"github.com/reveille-run/reveille/core"
)

// MaxFile is the most bytes of a file of triggers.
const MaxFile = 1 << 20

// Parse reads triggers from JSON: {"triggers": [...]}, each an object whose keys are
// the fields of [Trigger] in lower case. An unknown key, one that is given twice and a
// value of another type are errors that begin with the name, such as the file's, and
// say where. What the triggers must be is checked by [New].
func Parse(name string, data []byte) ([]Trigger, error) {
	if len(data) > MaxFile {
		return nil, core.Errorf(core.CodeInvalid, "%s has %d bytes, at most %d are allowed", name, len(data), MaxFile)
	}
	var all []Trigger
	err := readFile(data, &all)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s: %w", name, err)
	}
	return all, nil
}

func readFile(data []byte, all *[]Trigger) error {
	if err := syntax(data); err != nil {
		return err
	}
	given := false
	err := members("", data, map[string]func(json.RawMessage) error{
		"triggers": func(raw json.RawMessage) error {
			given = true
			var items []json.RawMessage
			if err := json.Unmarshal(raw, &items); err != nil || items == nil {
				return errors.New("triggers must be a list")
			}
			for i, item := range items {
				t, err := readTrigger(fmt.Sprintf("triggers[%d]", i), item)
				if err != nil {
					return err
				}
				*all = append(*all, t)
			}
			return nil
		},
	})
	if err == nil && !given {
		return errors.New("triggers is required, a list")
	}
	return err
}

// syntax says where the text stops being one JSON value.
func syntax(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	err := d.Decode(&value)
	var broken *json.SyntaxError
	switch {
	case errors.As(err, &broken):
		return fmt.Errorf("%s: not JSON: %w", place(data, int(broken.Offset)-1), err)
	case err != nil:
		return fmt.Errorf("%s: not JSON: it ends too early", place(data, len(data)))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one JSON value", place(data, int(d.InputOffset())))
	}
	return nil
}

// place is the line and column of a byte, both from 1.
func place(data []byte, offset int) string {
	before := string(data[:min(max(offset, 0), len(data))])
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n'))
}

// readTrigger reads one trigger, at is where it stands.
func readTrigger(at string, raw json.RawMessage) (t Trigger, err error) {
	source := ""
	err = members(at, raw, map[string]func(json.RawMessage) error{
		"name": into(at+".name", &t.Name), "source": into(at+".source", &source), "agent": into(at+".agent", &t.Agent),
		"tenant": into(at+".tenant", &t.Tenant), "user": into(at+".user", &t.User), "thread": into(at+".thread", &t.Thread),
		"prompt": into(at+".prompt", &t.Prompt), "key": into(at+".key", &t.Key), "schedule": into(at+".schedule", &t.Schedule),
		"filter": func(raw json.RawMessage) error {
			t.Filter = raw
			return nil
		},
		"webhook": func(raw json.RawMessage) error {
			t.Webhook = &Webhook{}
			scheme := ""
			err := members(at+".webhook", raw, map[string]func(json.RawMessage) error{
				"scheme": into(at+".webhook.scheme", &scheme), "secret": into(at+".webhook.secret", &t.Webhook.Secret),
			})
			t.Webhook.Scheme = Scheme(scheme)
			return err
		},
	})
	t.Source = incoming.Source(source)
	return t, err
}

// into takes a text.
func into(at string, field *string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if raw[0] != '"' {
			return fmt.Errorf("%s must be a text", at)
		}
		return json.Unmarshal(raw, field)
	}
}

// keysOf are the keys in the order in which an error lists them.
var keysOf = map[string][]string{
	"":         {"triggers"},
	"triggers": {"name", "source", "filter", "agent", "tenant", "user", "thread", "prompt", "key", "schedule", "webhook"},
	"webhook":  {"scheme", "secret"},
}

// members gives each member of the JSON object raw, which stands at a place, to the
// function of its key. encoding/json alone would take keys in another case, and the
// last of two.
func members(at string, raw json.RawMessage, take map[string]func(json.RawMessage) error) error {
	what := at
	if what == "" {
		what = "the file"
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("%s must be an object", what)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if take[key] == nil {
			return fmt.Errorf("%s has the unknown key %q, allowed are %s", what, core.Excerpt(key), strings.Join(keysOf[kind(at)], ", "))
		}
		if seen[key] {
			return fmt.Errorf("%s has the key %q twice", what, key)
		}
		seen[key] = true
		if err := take[key](value); err != nil {
			return err
		}
	}
	return nil
}

// kind is the last name of a place, without its index.
func kind(at string) string {
	name, _, _ := strings.Cut(at[strings.LastIndexByte(at, '.')+1:], "[")
	return name
}

// Read reads the triggers that a setting names: a file, or the JSON itself, which
// begins with a brace. Empty: there are none.
func Read(setting string) ([]Trigger, error) {
	switch {
	case setting == "":
		return nil, nil
	case strings.HasPrefix(strings.TrimSpace(setting), "{"):
		return Parse("REVEILLE_TRIGGERS", []byte(setting))
	}
	data, err := os.ReadFile(setting)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "REVEILLE_TRIGGERS: %w", err)
	}
	return Parse(setting, data)
}
