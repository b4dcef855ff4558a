package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The statuses and the meaning of code forbidden. No route returns it, so that a thread of
// another user cannot be found out. The local host refuses requests with it.
var guarded = []int{http.StatusForbidden, http.StatusMisdirectedRequest}

const guardedMeaning = "The local host refuses the page or the host name of the request. A thread of another user is `not_found`."

// errorTable lists the error codes that a client can receive. A code without a status stays
// inside the runtime: a client receives internal or unavailable instead.
func errorTable(root string) (string, error) {
	file, err := sourceFile(root, "core/error.go")
	if err != nil {
		return "", err
	}
	codes, err := constants(file, "Code")
	if err != nil {
		return "", err
	}
	statuses, err := statusesOf(root)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range codes {
		of := statuses[c.name]
		if err := documented(root, c.value, &of); err != nil {
			return "", err
		}
		if c.name == "CodeForbidden" {
			of, c.comment = guarded, guardedMeaning
		}
		if len(of) == 0 {
			continue
		}
		var all []string
		for _, status := range of {
			all = append(all, strconv.Itoa(status))
		}
		rows = append(rows, []string{code(c.value, ""), strings.Join(all, ", "), sentence(c.comment)})
	}
	return table([]string{"Code", "Status", "Meaning"}, rows), nil
}

// statusesOf reads the table from codes to statuses, by the name of the code's constant.
func statusesOf(root string) (map[string][]int, error) {
	file, err := sourceFile(root, "adapters/internal/protocol/refuse.go")
	if err != nil {
		return nil, err
	}
	byName := map[string]int{
		"StatusBadRequest": 400, "StatusUnauthorized": 401, "StatusPaymentRequired": 402, "StatusForbidden": 403, "StatusNotFound": 404,
		"StatusMethodNotAllowed": 405, "StatusNotAcceptable": 406, "StatusConflict": 409, "StatusGone": 410, "StatusRequestEntityTooLarge": 413,
		"StatusTooManyRequests": 429, "StatusInternalServerError": 500, "StatusServiceUnavailable": 503,
	}
	found, unknown := map[string][]int{}, ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "statuses" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := e.(*ast.KeyValueExpr)
			name := pair.Value.(*ast.SelectorExpr).Sel.Name
			if byName[name] == 0 {
				unknown = name
			}
			found[pair.Key.(*ast.SelectorExpr).Sel.Name] = []int{byName[name]}
		}
		return false
	})
	if unknown != "" || len(found) == 0 {
		return nil, fmt.Errorf("adapters/internal/protocol/refuse.go: %d statuses, unknown: %q", len(found), unknown)
	}
	return found, nil
}

// documented adds the statuses that the OpenAPI document has for a code. Its responses are
// named STATUS-CODE-CODE.
func documented(root, value string, statuses *[]int) error {
	data, err := os.ReadFile(filepath.Join(root, "adapters/protocols/httpapi/openapi.json"))
	if err != nil {
		return err
	}
	var document struct {
		Components struct{ Responses map[string]json.RawMessage }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	for name := range document.Components.Responses {
		parts := strings.Split(name, "-")
		status, err := strconv.Atoi(parts[0])
		if err != nil {
			return fmt.Errorf("openapi.json: response %q", name)
		}
		if slices.Contains(parts[1:], value) && !slices.Contains(*statuses, status) {
			*statuses = append(*statuses, status)
		}
	}
	slices.Sort(*statuses)
	return nil
}
