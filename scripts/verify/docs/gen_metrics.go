package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
)

// metricTables lists the metrics of the local host and of functions on AWS.
func metricTables(root string) (string, error) {
	prometheus, err := prometheusTable(root)
	if err != nil {
		return "", err
	}
	return "On the local host, at `GET /metrics`:\n\n" + prometheus + "\n" + cloudWatchTable(), nil
}

// prometheusTable finds each name that begins with reveille_ in package metrics. The text
// after it is its help, and further texts are its labels.
func prometheusTable(root string) (string, error) {
	file, err := sourceFile(root, "adapters/outbound/metrics/metrics.go")
	if err != nil {
		return "", err
	}
	var rows [][]string
	ast.Inspect(file, func(n ast.Node) bool {
		var parts []ast.Expr
		switch n := n.(type) {
		case *ast.CallExpr:
			parts = n.Args
		case *ast.CompositeLit:
			parts = n.Elts
		}
		texts := literals(parts)
		if len(texts) < 2 || !strings.HasPrefix(texts[0], "reveille_") {
			return true
		}
		kind, unit := "gauge", ""
		switch {
		case strings.HasSuffix(texts[0], "_total"):
			kind = "counter"
		case strings.HasSuffix(texts[0], "_duration_seconds"):
			kind = "histogram"
		}
		if strings.HasSuffix(texts[0], "_seconds") {
			unit = ", seconds"
		}
		labels := "none"
		if len(texts) > 2 {
			labels = "`" + strings.Join(texts[2:], "`, `") + "`"
		}
		rows = append(rows, []string{code(texts[0], ""), kind + unit, labels, quote(sentence(texts[1]))})
		return true
	})
	if len(rows) == 0 {
		return "", fmt.Errorf("adapters/outbound/metrics/metrics.go names no metric")
	}
	return table([]string{"Metric", "Type", "Labels", "Meaning"}, rows), nil
}

// literals returns the texts among expressions, also those with a key.
func literals(of []ast.Expr) (texts []string) {
	for _, e := range of {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// cloudWatchTable lists the metrics that package emf writes.
func cloudWatchTable() string {
	var rows [][]string
	most := 0
	for _, m := range emf.Metrics() {
		most += m.Count()
		by := ""
		for _, name := range slices.Sorted(maps.Keys(m.By)) {
			by += ", `" + name + "` (" + strconv.Itoa(len(m.By[name])) + ")"
		}
		rows = append(rows, []string{code(m.Name, ""), m.Unit, strings.TrimPrefix(by, ", "), quote(m.Meaning)})
	}
	intro := fmt.Sprintf("On AWS, in the CloudWatch namespace `Reveille`. Each metric has the dimension `Stack`. It is also counted by `Stack` and one more dimension, whose values are a closed list. A stack has at most %d metrics.\n\n", most)
	return intro + table([]string{"Metric", "Unit", "Also by (values)", "Meaning"}, rows)
}
