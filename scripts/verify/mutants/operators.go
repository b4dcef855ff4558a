package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// The operators. Where a removed part might leave a variable or an import
// unused, it stays and has no effect instead: `if false { ... }`, `(x || true)`.
const (
	opNegate   = "negate"   // == for !=, < for >=, x for !x
	opBoundary = "boundary" // < for <=
	opSwap     = "swap"     // && for ||
	opOperand  = "operand"  // x && y, x + y: x or y alone
	opInteger  = "integer"  // n+1 and n-1 for n
	opBool     = "bool"     // true for false
	opDrop     = "drop"     // an assignment, a call, an early return is omitted
	opCase     = "case"     // a case, or one of its values, is omitted
	opField    = "field"    // a field of a struct literal is omitted
)

// quiet are functions whose calls tell people or tests what happens and change
// nothing: a mutant of them says nothing. Prefixes of types.Func.FullName, or
// of a field in the same form.
var quiet = []string{
	"log/slog.", "(*log/slog.Logger).",
	"(*github.com/reveille-run/reveille/core/env.Env).Reach",
}

// walker collects the mutants of one file.
type walker struct {
	code    *code
	info    *types.Info
	where   string
	mutants []*mutant
}

func (w *walker) file() []*mutant {
	for where, declaration := range w.code.declarations() {
		w.where = where
		ast.PreorderStack(declaration, nil, w.visit)
	}
	seen := map[identity]int{}
	for _, m := range w.mutants {
		m.describe()
		seen[m.identity]++
		m.nth = seen[m.identity]
	}
	return w.mutants
}

func (w *walker) visit(n ast.Node, stack []ast.Node) bool {
	var parent ast.Node
	if len(stack) > 0 {
		parent = stack[len(stack)-1]
	}
	if call, ok := parent.(*ast.CallExpr); ok && w.isRoom(call, n) {
		return false // it is only a capacity
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		if w.isQuiet(n) {
			return false
		}
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.BasicLit:
		w.integer(n)
	case *ast.Ident:
		w.boolean(n)
	case *ast.CompositeLit:
		w.fields(n)
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.ForStmt:
		w.condition(n.Cond)
	case *ast.SwitchStmt:
		w.cases(n.Body, n.Tag == nil)
	case *ast.TypeSwitchStmt:
		w.cases(n.Body, false)
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			w.condition(r)
		}
	}
	if s, ok := n.(ast.Stmt); ok {
		w.statement(s, parent)
	}
	return true
}

func (w *walker) offset(p token.Pos) int { return w.code.offset(p) }

func (w *walker) text(n ast.Node) string { return w.code.of(n) }

// add records a mutant that replaces the source from from to to. The lines after
// it keep their numbers.
func (w *walker) add(operator string, from, to token.Pos, text string) {
	e := edit{w.offset(from), w.offset(to), text}
	e.text += strings.Repeat("\n", max(0, strings.Count(w.code.text[e.start:e.end], "\n")-strings.Count(text, "\n")))
	w.mutants = append(w.mutants, &mutant{
		identity: identity{file: w.code.path, where: w.where, operator: operator},
		code:     w.code, line: w.code.fset.Position(from).Line, edit: e,
	})
}

func (w *walker) isQuiet(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr) // of a package or a value
	if !ok {
		return false
	}
	name := ""
	switch f := w.info.Uses[selector.Sel].(type) {
	case *types.Func:
		name = f.FullName()
	case *types.Var: // a field that is a function
		if s := w.info.Selections[selector]; s != nil {
			name = "(" + s.Recv().String() + ")." + f.Name()
		}
	}
	return name != "" && slices.ContainsFunc(quiet, func(q string) bool { return strings.HasPrefix(name, q) })
}

var (
	opposite = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
		token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	boundary = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	logical    = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
	arithmetic = []token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.SHL, token.SHR, token.AND, token.OR, token.XOR}
)

func (w *walker) binary(n *ast.BinaryExpr) {
	operator := func(name string, to token.Token) {
		w.add(name, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
	}
	if to, ok := opposite[n.Op]; ok {
		operator(opNegate, to)
	}
	if to, ok := boundary[n.Op]; ok {
		operator(opBoundary, to)
	}
	if to, ok := logical[n.Op]; ok {
		operator(opSwap, to)
		neutral := " || true)"
		if n.Op == token.LOR {
			neutral = " && false)"
		}
		for _, x := range []ast.Expr{n.X, n.Y} {
			w.condition(x)
			if inner, ok := x.(*ast.BinaryExpr); ok && inner.Op == n.Op {
				continue // its own operands are omitted one by one
			}
			w.add(opOperand, x.Pos(), x.End(), "("+w.text(x)+neutral)
		}
	}
	if slices.Contains(arithmetic, n.Op) {
		w.add(opOperand, n.Pos(), n.End(), w.text(n.X))
		if n.Op == token.ADD || n.Op == token.MUL || n.Op == token.OR {
			w.add(opOperand, n.Pos(), n.End(), w.text(n.Y))
		}
	}
}

// condition negates an expression that decides something. Comparisons and logical
// expressions belong to binary.
func (w *walker) condition(x ast.Expr) {
	if x == nil {
		return
	}
	x = ast.Unparen(x)
	t := w.info.TypeOf(x)
	if t == nil {
		return
	}
	if b, ok := t.Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 || w.info.Types[x].Value != nil {
		return
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
	case *ast.UnaryExpr:
		w.add(opNegate, x.Pos(), x.X.Pos(), "")
	default:
		w.add(opNegate, x.Pos(), x.End(), "!"+w.text(x))
	}
}

// integer shifts a literal.
func (w *walker) integer(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 64)
	if n.Kind != token.INT || err != nil {
		return
	}
	w.add(opInteger, n.Pos(), n.End(), strconv.FormatInt(value+1, 10))
	if value > 0 {
		w.add(opInteger, n.Pos(), n.End(), strconv.FormatInt(value-1, 10))
	}
}

// isRoom reports whether the argument is the capacity in a call of make.
func (w *walker) isRoom(call *ast.CallExpr, argument ast.Node) bool {
	made, ok := call.Fun.(*ast.Ident)
	if !ok || made.Name != "make" {
		return false
	}
	if _, isMap := w.info.TypeOf(call).Underlying().(*types.Map); isMap {
		return true
	}
	return len(call.Args) == 3 && call.Args[2] == argument
}

func (w *walker) boolean(n *ast.Ident) {
	if w.info.Uses[n] == types.Universe.Lookup(n.Name) && (n.Name == "true" || n.Name == "false") {
		w.add(opBool, n.Pos(), n.End(), strconv.FormatBool(n.Name == "false"))
	}
}

func (w *walker) statement(s ast.Stmt, parent ast.Node) {
	switch parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return // the init or post statement of an if, for or switch
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && w.isQuiet(call) {
			return
		}
	case *ast.DeferStmt:
		if w.isQuiet(s.Call) {
			return
		}
	case *ast.IncDecStmt, *ast.ReturnStmt, *ast.BranchStmt, *ast.SendStmt:
	default:
		return
	}
	w.add(opDrop, s.Pos(), s.End(), "if false { "+w.text(s)+" }")
}

// cases omits the cases of a switch. conditions states that they are conditions, which
// can remain without effect.
func (w *walker) cases(body *ast.BlockStmt, conditions bool) {
	for _, s := range body.List {
		clause := s.(*ast.CaseClause)
		for i, x := range clause.List {
			switch {
			case conditions:
				w.condition(x)
				w.add(opCase, x.Pos(), x.End(), "false && ("+w.text(x)+")")
			case len(clause.List) == 1:
				w.add(opCase, clause.Pos(), clause.End(), "")
			case i == 0:
				w.add(opCase, x.Pos(), clause.List[1].Pos(), "")
			default:
				w.add(opCase, clause.List[i-1].End(), x.End(), "")
			}
		}
		if clause.List == nil {
			w.add(opCase, clause.Pos(), clause.End(), "")
		}
	}
}

func (w *walker) fields(n *ast.CompositeLit) {
	t := w.info.TypeOf(n)
	if t == nil {
		return
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}
	for i, element := range n.Elts {
		if _, ok := element.(*ast.KeyValueExpr); !ok {
			return
		}
		from, to := element.Pos(), element.End()
		if comma := strings.IndexByte(w.code.bare[w.offset(to):w.offset(n.Rbrace)], ','); comma >= 0 {
			to += token.Pos(comma + 1)
		} else if i > 0 {
			from = n.Elts[i-1].End()
		}
		w.add(opField, from, to, "")
	}
}
