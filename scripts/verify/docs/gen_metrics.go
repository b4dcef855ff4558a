package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// metricTables lists the metrics of the local host and of functions on AWS.
func metricTables(root string) (string, error) {
	prometheus, err := prometheusTable(root)
	if err != nil {
		return "", err
	}
	cloudWatch, err := cloudWatchTable(root)
	if err != nil {
		return "", err
	}
	return "On the local host, at `GET /metrics`:\n\n" + prometheus + "\n" + cloudWatch, nil
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

// cloudWatchTable lists the metrics that package emf declares, with the comments of their
// fields.
func cloudWatchTable(root string) (string, error) {
	file, err := sourceFile(root, "adapters/outbound/emf/emf.go")
	if err != nil {
		return "", err
	}
	fields, err := structure(file, "line")
	if err != nil {
		return "", err
	}
	meanings := map[string]string{}
	for _, f := range fields {
		meanings[f.Names[0].Name] = comment(f.Doc, f.Comment)
	}
	var rows [][]string
	var sets []string
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, e := range list.Elts {
			if item, ok := e.(*ast.CompositeLit); ok && item.Type == nil {
				texts := literals(item.Elts)
				switch of := typeName(list.Type); {
				case of == "metric" && len(texts) == 2:
					rows = append(rows, []string{code(texts[0], ""), texts[1], sentence(meanings[texts[0]])})
				case of == "string" && len(texts) > 0:
					sets = append(sets, "`"+strings.Join(texts, "`, `")+"`")
				}
			}
		}
		return true
	})
	if len(rows) == 0 || len(sets) == 0 {
		return "", fmt.Errorf("adapters/outbound/emf/emf.go declares %d metrics, %d sets of dimensions", len(rows), len(sets))
	}
	for _, row := range rows {
		if row[2] == "" {
			return "", fmt.Errorf("adapters/outbound/emf/emf.go: field %s has no comment", row[0])
		}
	}
	dimensions := "On AWS, in the CloudWatch namespace `Reveille`, each with the dimensions " + strings.Join(sets, " and with ") + ":\n\n"
	return dimensions + table([]string{"Metric", "Unit", "Meaning"}, rows), nil
}

// typeName returns the name of the innermost element of a slice type, such as string for
// [][]string.
func typeName(t ast.Expr) string {
	for {
		slice, ok := t.(*ast.ArrayType)
		if !ok {
			break
		}
		t = slice.Elt
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
