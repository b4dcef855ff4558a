package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// compiler type-checks samples.
type compiler struct {
	fset     *token.FileSet
	importer types.Importer
	paths    map[string][]string          // of importable packages, by name
	declared map[string]map[string]string // declarations of testdata/samples.txt, by room and name
	used     map[string]bool              // of these, as "room name"
}

func newCompiler(all []pkg, table string) *compiler {
	c := &compiler{fset: token.NewFileSet(), paths: map[string][]string{}, declared: map[string]map[string]string{}, used: map[string]bool{}}
	export := map[string]string{}
	for _, p := range all {
		export[p.ImportPath] = p.Export
		if importable(p) || !strings.HasPrefix(p.ImportPath, module) && !strings.Contains(p.ImportPath, "internal/") {
			c.paths[p.Name] = append(c.paths[p.Name], p.ImportPath)
		}
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, fmt.Errorf("package %s is not among those of this module", path)
		}
		return os.Open(export[path])
	})
	for _, section := range strings.Split("\n"+table, "\n-- ")[1:] {
		room, text, _ := strings.Cut(section, " --\n")
		c.declared[room] = declarations(text)
	}
	return c
}

// declarations are those of a text, by the name that each declares.
func declarations(text string) map[string]string {
	byName := map[string]string{}
	for _, piece := range pieces(text) {
		if m := regexp.MustCompile(`^(?:func|var|type|const) \(?(\w+)`).FindStringSubmatch(piece); m != nil {
			byName[m[1]] += piece + "\n" // methods beside their type
		}
	}
	return byName
}

// check returns what is wrong with a sample, nil if nothing is.
func (c *compiler) check(s sample) []error {
	text := regexp.MustCompile(`(?m)^\s*\.\.\.\s*$`).ReplaceAllString(s.text, "")
	text = strings.ReplaceAll(text, "{ ... }", "{}")
	for extra := []string(nil); ; {
		source := c.wrapped(s.room, text, extra)
		file, err := parser.ParseFile(c.fset, "sample.go", source, parser.SkipObjectResolution)
		if err != nil {
			return []error{syntaxOf(err)}
		}
		more := false
		var wrong []error
		for _, problem := range c.problems(file) {
			name, undefined := strings.CutPrefix(problem, "undefined: ")
			if !undefined || strings.Contains(name, ".") {
				wrong = append(wrong, errors.New(problem))
				continue
			}
			room := s.room
			declaration, ok := c.declared[room][name]
			if !ok {
				room = "all"
				declaration, ok = c.declared[room][name]
			}
			c.used[room+" "+name] = c.used[room+" "+name] || ok
			switch {
			case !ok:
				wrong = append(wrong, fmt.Errorf("%s, which neither the sample nor testdata/samples.txt declares", problem))
			case !slices.Contains(extra, declaration):
				extra, more = append(extra, declaration), true
			}
		}
		if !more {
			return wrong
		}
	}
}

func syntaxOf(err error) error {
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
		return errors.New(list[0].Msg)
	}
	return err
}

// partial are errors that a fragment has because it is one.
var partial = regexp.MustCompile(`declared and not used|imported and not used|defined and not used|is not used|^missing return|return values`)

// problems type-checks a file.
func (c *compiler) problems(file *ast.File) (all []string) {
	config := types.Config{Importer: c.importer, Error: func(err error) {
		wrong, ok := errors.AsType[types.Error](err)
		if text, _, _ := strings.Cut(wrong.Msg, "\n"); ok && !partial.MatchString(text) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}}
	_, _ = config.Check("sample", c.fset, []*ast.File{file}, nil) // the errors are in all
	return all
}

// wrapped makes a file of a fragment: its declarations at the top, its statements in a
// function, and the imports that both need.
func (c *compiler) wrapped(room, text string, extra []string) string {
	if strings.Contains("\n"+text, "\npackage ") {
		return text
	}
	var imports, top, inside strings.Builder
	for _, piece := range append(pieces(text), extra...) {
		into := &inside
		if regexp.MustCompile(`^(func (\w|\()|var|type|const)`).MatchString(piece) {
			into = &top
		}
		into.WriteString(piece + "\n")
	}
	body := top.String() + "func _() {\n" + inside.String() + "}\n"
	for _, m := range regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`).FindAllStringSubmatch(body, -1) {
		if path := c.path(room, m[1]); path != "" && !strings.Contains(imports.String(), `"`+path+`"`) {
			fmt.Fprintf(&imports, "import %q\n", path)
		}
	}
	return "package sample\n" + imports.String() + body
}

// path finds a package by its name; empty: there is none.
func (c *compiler) path(room, name string) string {
	nearness := func(p string) (n int) {
		switch {
		case p == module+"/"+room || path.Dir(p) == module+"/"+room:
			return 3
		case strings.HasPrefix(p, module):
			return 2
		case p == name:
			return 1
		}
		return 0
	}
	all := slices.Clone(c.paths[name])
	slices.SortStableFunc(all, func(a, b string) int { return nearness(b) - nearness(a) })
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// pieces splits Go text into its declarations and statements, without comments around them.
// A piece ends where a semicolon belongs that is in no brackets.
func pieces(text string) (all []string) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	depth, begin := 0, -1
	for {
		pos, tok, _ := s.Scan()
		at := file.Offset(min(pos, token.Pos(file.Base()+file.Size())))
		if begin < 0 && tok != token.SEMICOLON {
			begin = at
		}
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON, token.EOF:
			if begin >= 0 && begin < at && (depth <= 0 || tok == token.EOF) {
				all, begin = append(all, strings.TrimSuffix(strings.TrimSpace(text[begin:at]), ",")), -1
			}
		}
		if tok == token.EOF {
			return all
		}
	}
}
