package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outgoing is the package with the rules for outgoing requests.
const outgoing = "adapters/internal/egress/"

// senders are the files that may make connections or clients without it, and why. The
// value begins with what they use.
var senders = map[string]string{
	"adapters/internal/awsapi/settings.go":       "http.Client, http.DefaultTransport: the addresses are those of the SDK and of AWS_ENDPOINT_URL_ variables, which only the operator sets. Bedrock passes its own transport. Redirects are not followed.",
	"adapters/identity/bearer/keys.go":           "http.Client, oidc.NewRemoteKeySet: the client's transport is the cache of keys, which fetches through the transport of the options.",
	"adapters/models/bedrock/profile/profile.go": "import github.com/aws/aws-sdk-go-v2/config, import github.com/aws/aws-sdk-go-v2/feature/ec2/imds: the SDK asks for the credentials of a person's own profile, on the local host only.",
	"adapters/models/gemini/vertex/vertex.go":    "import golang.org/x/oauth2: the library asks for tokens with the client of these rules.",
	"adapters/protocols/protocoltest/deaf.go":    "net.Dialer: a client of tests.",
}

// making are names of packages that make connections or clients with rules of their own.
var making = map[string][]string{
	"net/http":                          {"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "ProxyFromEnvironment", "ProxyURL", "Transport"},
	"net":                               {"Dial", "DialIP", "DialTCP", "DialTimeout", "DialUDP", "DialUnix", "Dialer"},
	"crypto/tls":                        {"Client", "Dial", "DialWithDialer", "Dialer"},
	"github.com/coreos/go-oidc/v3/oidc": {"NewProvider", "NewRemoteKeySet"},
	"github.com/aws/aws-sdk-go-v2/aws/transport/http": {"BuildableClient", "NewBuildableClient"},
}

// asking are packages whose functions send requests by themselves.
var asking = []string{
	"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/credentials/", "github.com/aws/aws-sdk-go-v2/feature/ec2/imds", "golang.org/x/oauth2",
	"net/http/httputil", "net/rpc", "net/smtp",
}

// services are the clients of AWS. Without an HTTPClient they make one.
const services = "github.com/aws/aws-sdk-go-v2/service/"

// sends lists what a file uses to send requests by its own rules, sorted.
func sends(file *ast.File) []string {
	names := map[string]string{} // of imports: the path by the name in the file
	var found []string
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
		if slices.ContainsFunc(asking, func(a string) bool { return path == a || strings.HasSuffix(a, "/") && strings.HasPrefix(path, a) }) {
			found = append(found, "import "+path)
		}
	}
	pointed := map[ast.Expr]bool{} // *http.Client takes a client, and makes none
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			pointed[n.X] = true
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Options" && strings.HasPrefix(names[fmt.Sprint(s.X)], services) && !hasKey(n, "HTTPClient") {
				found = append(found, fmt.Sprint(s.X)+".Options without HTTPClient")
			}
		case *ast.SelectorExpr:
			path := names[fmt.Sprint(n.X)]
			if slices.Contains(making[path], n.Sel.Name) && !pointed[n] || strings.HasPrefix(path, services) && n.Sel.Name == "NewFromConfig" {
				found = append(found, path[strings.LastIndex(path, "/")+1:]+"."+n.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}

func hasKey(literal *ast.CompositeLit, name string) bool {
	return slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		return ok && fmt.Sprint(pair.Key) == name
	})
}

// TestRequestsAreSentByTheRules: a new consumer that makes its own client would reach
// private addresses, follow redirects with a key, or use a proxy.
func TestRequestsAreSentByTheRules(t *testing.T) {
	top, used := root(t), map[string]bool{}
	for _, folder := range []string{"core", "adapters", "functions"} {
		err := filepath.WalkDir(filepath.Join(top, folder), func(path string, d fs.DirEntry, err error) error {
			room, _ := filepath.Rel(top, path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(room, outgoing):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			found := strings.Join(sends(file), ", ")
			why, ok := senders[room]
			used[room] = true
			if what, _, _ := strings.Cut(why, ": "); found != what {
				t.Errorf("%s uses %q, allowed is %q (listed: %v): send requests through package %s, or list the file with its reason", room, found, what, ok, strings.TrimSuffix(outgoing, "/"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for room := range senders {
		if !used[room] {
			t.Errorf("%s is listed, but is no file", room)
		}
	}
}

func TestWhatSendsIsFound(t *testing.T) {
	const head = "package p\nimport (\n\"net/http\"\n\"net\"\nt \"crypto/tls\"\n\"github.com/coreos/go-oidc/v3/oidc\"\n\"github.com/aws/aws-sdk-go-v2/service/sqs\"\n)\n"
	for _, test := range []struct {
		code string
		want []string
	}{
		{"var c *http.Client; func f(r *http.Request, l net.Listener) http.RoundTripper { return c.Transport }", nil},
		{"var c http.Client", []string{"http.Client"}},
		{"var c = &http.Client{}", []string{"http.Client"}},
		{"var c = new(http.Transport)", []string{"http.Transport"}},
		{"var c = http.DefaultTransport.(*http.Transport).Clone()", []string{"http.DefaultTransport"}},
		{"var f = http.Get; var g = http.DefaultClient", []string{"http.DefaultClient", "http.Get"}},
		{"var f = net.DialTimeout; var d net.Dialer; var g = t.Dial", []string{"net.DialTimeout", "net.Dialer", "tls.Dial"}},
		{"var p, _ = oidc.NewProvider(nil, \"\")", []string{"oidc.NewProvider"}},
		{"var s = sqs.New(sqs.Options{HTTPClient: c})", nil},
		{"var s = sqs.New(sqs.Options{Region: r})", []string{"sqs.Options without HTTPClient"}},
		{"var s = sqs.NewFromConfig(c)", []string{"sqs.NewFromConfig"}},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+test.code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, sends(file)); diff != "" {
			t.Errorf("%s:\n%s", test.code, diff)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nimport _ \"github.com/aws/aws-sdk-go-v2/credentials/ssocreds\"\nimport _ \"net/http/httputil\"", 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"import github.com/aws/aws-sdk-go-v2/credentials/ssocreds", "import net/http/httputil"}, sends(file)); diff != "" {
		t.Error(diff)
	}
}
