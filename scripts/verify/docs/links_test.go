package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// resolve returns the path in this repository that a link of a document leads to, and its
// anchor. A link to another site has no path.
func resolve(document, address string) (name, anchor string) {
	if strings.Contains(address, "://") || strings.HasPrefix(address, "mailto:") {
		return "", ""
	}
	name, anchor, _ = strings.Cut(address, "#")
	if name == "" {
		return document, anchor
	}
	return path.Join(path.Dir(document), name), anchor
}

// readme is the document that a folder shows: itself if it is none.
func readme(all map[string]markdown.Document, name string) string {
	if inside := path.Join(name, "README.md"); all[inside].Headings != nil {
		return inside
	}
	return name
}

// TestLinksLeadSomewhere looks up each file that a document links to, and each anchor.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, wrong := range brokenLinks(documents(t), func(name string) bool { return exists(t, name) }) {
		t.Error(wrong)
	}
}

// brokenLinks returns a text for each link to a file or an anchor that does not exist.
func brokenLinks(all map[string]markdown.Document, exists func(string) bool) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, link := range all[name].Links {
			target, anchor := resolve(name, link.Address)
			if target == "" {
				continue
			}
			if !exists(target) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: the link %q leads to nothing", name, link.Line, link.Address))
				continue
			}
			target = readme(all, target)
			has := func(h markdown.Heading) bool { return h.Anchor == anchor }
			if anchor != "" && strings.HasSuffix(target, ".md") && !slices.ContainsFunc(all[target].Headings, has) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s has no heading %q; it has %q", name, link.Line, target, anchor, anchors(all[target])))
			}
		}
	}
	return wrong
}

// exists reports whether a path is that of a file of this repository, or of a folder with
// one. Files that git ignores do not count: only this machine has them.
func exists(t *testing.T, name string) bool {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		return false
	}
	return slices.ContainsFunc(all, func(file string) bool { return file == name || strings.HasPrefix(file, name+"/") || name == "." })
}

func anchors(d markdown.Document) (all []string) {
	for _, h := range d.Headings {
		all = append(all, h.Anchor)
	}
	return all
}

// clicks returns how many links lead from README.md to each document, by the shortest way.
func clicks(all map[string]markdown.Document) map[string]int {
	far := map[string]int{"README.md": 0}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		for _, link := range all[queue[0]].Links {
			target, _ := resolve(queue[0], link.Address)
			target = readme(all, target)
			if _, seen := far[target]; !seen && all[target].Headings != nil {
				far[target] = far[queue[0]] + 1
				queue = append(queue, target)
			}
		}
	}
	return far
}

func TestDocumentsAreTwoClicksAway(t *testing.T) {
	for _, wrong := range distant(documents(t)) {
		t.Error(wrong)
	}
}

// distant returns a text for each document that is too far from README.md.
func distant(all map[string]markdown.Document) (wrong []string) {
	far := clicks(all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch n, ok := far[name]; {
		case !ok:
			wrong = append(wrong, name+" cannot be reached from README.md")
		case n > 2:
			wrong = append(wrong, fmt.Sprintf("%s is %d links from README.md, at most 2 are allowed", name, n))
		}
	}
	return wrong
}

// TestTheFirstQuestionsAreAnswered: the answer to each is a heading that is at most two
// links away from README.md.
func TestTheFirstQuestionsAreAnswered(t *testing.T) {
	all := documents(t)
	far := clicks(all)
	questions := []struct{ question, document, heading, answer string }{
		{"How do I add a tool?", "functions/guides/tools.md", "write-a-tool", "reveille.Tool"},
		{"How do I approve a call?", "functions/guides/approvals.md", "decide", "/decision"},
		{"How do I deploy?", "infra/README.md", "deploy", "make deploy"},
		{"How do I limit a tenant?", "functions/guides/usage-and-limits.md", "limits", "REVEILLE_LIMITS"},
		{"How do I resume a stream?", "adapters/protocols/httpapi/README.md", "resume", "Last-Event-ID"},
		{"How do I test crashes?", "functions/guides/testing.md", "crash-test", "reveilletest.Crashes"},
		{"How do I read costs?", "functions/guides/usage-and-limits.md", "report", "/v1/usage"},
		{"How do I change the model?", "functions/guides/models.md", "select-a-model", "MODEL="},
		{"How do I embed it?", "functions/guides/embedding.md", "in-a-program", "reveille.New"},
		{"What is promised?", "core/promises.md", "promised", ""},
	}
	for _, q := range questions {
		document, ok := all[q.document]
		if n, reached := far[q.document]; !ok || !reached || n > 2 {
			t.Errorf("%s: %s is %d links from README.md (%v)", q.question, q.document, n, reached)
			continue
		}
		if section, err := section(document, read(t, q.document), q.heading); err != nil || !strings.Contains(section, q.answer) {
			t.Errorf("%s: section %q of %s does not have %q (%v)", q.question, q.heading, q.document, q.answer, err)
		}
	}
}

// section is the text under a heading, up to the next one of its level or above.
func section(d markdown.Document, text, anchor string) (string, error) {
	at := slices.IndexFunc(d.Headings, func(h markdown.Heading) bool { return h.Anchor == anchor })
	if at < 0 {
		return "", fmt.Errorf("no heading %q among %q", anchor, anchors(d))
	}
	lines, end := strings.SplitAfter(text, "\n"), -1
	for _, h := range d.Headings[at+1:] {
		if h.Level <= d.Headings[at].Level {
			end = h.Line - 1
			break
		}
	}
	if end < 0 {
		end = len(lines)
	}
	return strings.Join(lines[d.Headings[at].Line:end], ""), nil
}
