// Package markdown reads the documents of this repository for the checks on them: their
// prose, their headings with the anchors that GitHub gives them, their links and their
// fenced code blocks, each with its line.
package markdown

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Document is a file of Markdown.
type Document struct {
	Prose    []Prose
	Headings []Heading
	Links    []Link
	Blocks   []Block
}

// Prose is the text of a paragraph, a heading or a table cell. Code in it is replaced by
// the word CODE, HTML is omitted.
type Prose struct {
	Line    int
	Text    string
	Heading bool
	Cell    bool
}

// Heading is a heading of any level.
type Heading struct {
	Line, Level int
	Text        string
	Anchor      string // without "#"
}

// Link is a link or an image, with its address as it is written.
type Link struct {
	Line    int
	Text    string
	Address string
}

// Block is a code block.
type Block struct {
	Line int    // of its first line of code
	Info string // what follows the opening fence, such as "go file=x.go"; empty: indented code
	Text string
}

// Parse reads a document.
func Parse(source []byte) Document {
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	r := reader{source: source, anchors: map[string]int{}}
	_ = ast.Walk(root, r.visit) // visit returns no errors
	return r.document
}

type reader struct {
	source   []byte
	document Document
	anchors  map[string]int
	line     int // of the last block that has lines
}

func (r *reader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if node.Type() == ast.TypeBlock && node.Lines().Len() > 0 {
		r.line = r.lineOf(node.Lines().At(0).Start)
	}
	switch n := node.(type) {
	case *ast.Heading:
		words := r.words(n)
		r.document.Prose = append(r.document.Prose, Prose{Line: r.line, Text: words, Heading: true})
		r.document.Headings = append(r.document.Headings, Heading{r.line, n.Level, words, r.anchor(r.plain(n))})
	case *ast.Paragraph, *ast.TextBlock:
		r.document.Prose = append(r.document.Prose, Prose{Line: r.line, Text: r.words(n)})
	case *east.TableCell:
		r.document.Prose = append(r.document.Prose, Prose{Line: r.line, Text: r.words(n), Cell: true})
	case *ast.Link:
		r.document.Links = append(r.document.Links, Link{r.line, r.plain(n), string(n.Destination)})
	case *ast.Image:
		r.document.Links = append(r.document.Links, Link{r.line, r.plain(n), string(n.Destination)})
	case *ast.RawHTML:
		r.html(n.Segments)
	case *ast.HTMLBlock:
		r.html(n.Lines())
	case *ast.CodeBlock:
		r.document.Blocks = append(r.document.Blocks, Block{Line: r.line, Text: string(n.Lines().Value(r.source))})
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Value(r.source))
		}
		r.document.Blocks = append(r.document.Blocks, Block{r.line, info, string(n.Lines().Value(r.source))})
	}
	return ast.WalkContinue, nil
}

// html finds the addresses in HTML: src, srcset and href.
func (r *reader) html(lines *text.Segments) {
	for i := range lines.Len() {
		segment := lines.At(i)
		rest := string(segment.Value(r.source))
		line := r.lineOf(segment.Start)
		for {
			_, after, ok := strings.Cut(rest, `="`)
			if !ok {
				break
			}
			name := rest[strings.LastIndexAny(rest[:len(rest)-len(after)], " \t")+1 : len(rest)-len(after)-2]
			value, tail, _ := strings.Cut(after, `"`)
			if name == "src" || name == "srcset" || name == "href" {
				r.document.Links = append(r.document.Links, Link{line, name, value})
			}
			rest = tail
		}
	}
}

func (r *reader) lineOf(offset int) int { return 1 + bytes.Count(r.source[:offset], []byte("\n")) }

// words is the text under a node, with code replaced by CODE.
func (r *reader) words(n ast.Node) string { return r.text(n, "CODE") }

// plain is the text under a node with its code.
func (r *reader) plain(n ast.Node) string { return r.text(n, "") }

func (r *reader) text(n ast.Node, code string) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			if code != "" {
				b.WriteString(code)
				return ast.WalkSkipChildren, nil
			}
		case *ast.AutoLink:
			b.WriteString("CODE")
		case *ast.Text:
			b.Write(n.Value(r.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// anchor is the anchor that GitHub gives to a heading: lower case, blanks as hyphens,
// punctuation dropped, and a number where a text occurs again.
func (r *reader) anchor(heading string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, heading)
	n := r.anchors[name]
	r.anchors[name]++
	if n > 0 {
		return name + "-" + strconv.Itoa(n)
	}
	return name
}
