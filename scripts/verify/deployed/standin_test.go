//go:build aws

package deployed

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// standIn is for what moto lacks of an account that restores: backups of a moment, and
// Lambda and EventBridge Scheduler with the functions of a deployment. Everything else of
// DynamoDB goes to moto.
type standIn struct {
	tb        testing.TB
	tables    *dynamodb.Client
	moment    time.Time         // to which tables can be restored
	copies    map[string]string // tables as they were at the moment, by name
	restored  map[string]string // the table that a table was restored from
	mu        sync.Mutex
	functions map[string]int // timeout in seconds
	reserved  map[string]int
	mapping   bool // the queue feeds Step
	schedule  string
}

// newAccount returns an account in which a deployment works.
func newAccount(tb testing.TB, d *deployment) *standIn {
	tb.Helper()
	tables, _ := clients(tb)
	a := &standIn{tb: tb, tables: tables, copies: map[string]string{}, restored: map[string]string{}, functions: map[string]int{}, reserved: map[string]int{}, mapping: true, schedule: "ENABLED"}
	for id, p := range properties[lambda](tb, d.stack, "AWS::Lambda::Function") {
		seconds, err := p.Timeout.Int64()
		if err != nil {
			tb.Fatal(err)
		}
		a.functions[d.name(tb, id)] = int(seconds)
	}
	a.reserved[d.name(tb, "StreamFunction")] = 100
	return a
}

// mark keeps copies of tables. Its moment is the next full second, before which nothing else
// may be stored.
func (a *standIn) mark(names ...string) {
	a.tb.Helper()
	a.moment = time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(a.moment))
	for _, name := range names {
		a.copies[name] = name + "-marked"
		a.copy(name, a.copies[name])
	}
	time.Sleep(10 * time.Millisecond) // what follows is later, also by the clock of the bucket
}

// copy has moto restore a table, which it does by copying the table as it is now.
func (a *standIn) copy(from, to string) {
	a.tb.Helper()
	if _, err := a.tables.RestoreTableToPointInTime(a.tb.Context(), &dynamodb.RestoreTableToPointInTimeInput{SourceTableName: &from, TargetTableName: &to}); err != nil {
		a.tb.Fatal(err)
	}
	a.tb.Cleanup(func() { _, _ = a.tables.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &to}) })
}

// age makes a copied table one of some minutes ago: threads have become due since. Only the
// time in the index tells.
func (a *standIn) age(name string, minutes int) {
	a.tb.Helper()
	for page := range a.scan(name) {
		_, err := a.tables.UpdateItem(a.tb.Context(), &dynamodb.UpdateItemInput{
			TableName: &name, Key: map[string]types.AttributeValue{"pk": page["pk"], "sk": page["sk"]}, UpdateExpression: aws.String("ADD d :n"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.Itoa(-minutes * 60_000)}},
		})
		if err != nil {
			a.tb.Fatal(err)
		}
	}
}

// scan yields the items of a table that are in the index due.
func (a *standIn) scan(name string) func(func(map[string]types.AttributeValue) bool) {
	return func(yield func(map[string]types.AttributeValue) bool) {
		p := dynamodb.NewScanPaginator(a.tables, &dynamodb.ScanInput{TableName: &name, IndexName: aws.String("due")})
		for p.HasMorePages() {
			page, err := p.NextPage(a.tb.Context())
			if err != nil {
				a.tb.Fatal(err)
			}
			for _, item := range page.Items {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// environment names the endpoints of the account.
func (a *standIn) environment() func(string) string {
	to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		a.tb.Fatal(err)
	}
	serve := func(h http.HandlerFunc) string {
		server := httptest.NewServer(h)
		a.tb.Cleanup(server.Close)
		return server.URL
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host }, ModifyResponse: a.summary}
	endpoints := map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB":  serve(func(w http.ResponseWriter, r *http.Request) { a.database(w, r, proxy) }),
		"AWS_ENDPOINT_URL_LAMBDA":    serve(a.lambda),
		"AWS_ENDPOINT_URL_SCHEDULER": serve(a.scheduler),
	}
	return func(name string) string {
		if value, ok := endpoints[name]; ok {
			return value
		}
		return os.Getenv(name)
	}
}

// database answers what concerns backups.
func (a *standIn) database(w http.ResponseWriter, r *http.Request, moto http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.tb.Error(err)
	}
	var in struct {
		TableName, SourceTableName, TargetTableName string
		RestoreDateTime                             float64
	}
	if err := json.Unmarshal(body, &in); err != nil {
		a.tb.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "DescribeContinuousBackups":
		status := map[bool]string{true: "ENABLED", false: "DISABLED"}[a.copies[in.TableName] != ""]
		respond(w, object{"ContinuousBackupsDescription": object{"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": object{
			"PointInTimeRecoveryStatus": status, "RecoveryPeriodInDays": 35, "EarliestRestorableDateTime": a.moment.Add(-time.Hour).Unix(), "LatestRestorableDateTime": a.moment.Unix()}}})
		return
	case "RestoreTableToPointInTime":
		if in.RestoreDateTime != float64(a.moment.Unix()) || a.copies[in.SourceTableName] == "" {
			a.tb.Errorf("table %s is restored to %.3f, want a marked table and %d", in.SourceTableName, in.RestoreDateTime, a.moment.Unix())
		}
		a.restored[in.TargetTableName] = in.SourceTableName
		a.copy(a.copies[in.SourceTableName], in.TargetTableName)
		respond(w, object{})
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	moto.ServeHTTP(w, r)
}

// summary puts into the description of a restored table its source and moment, in place of the
// copy and the time of the copy.
func (a *standIn) summary(response *http.Response) error {
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var described map[string]object
	if json.Unmarshal(text, &described) == nil && described["Table"] != nil {
		name, _ := described["Table"]["TableName"].(string)
		arn, _ := described["Table"]["TableArn"].(string)
		if source := a.restored[name]; source != "" {
			described["Table"]["RestoreSummary"] = object{"SourceTableArn": strings.TrimSuffix(arn, name) + source, "RestoreDateTime": a.moment.Unix(), "RestoreInProgress": false}
			if text, err = json.Marshal(described); err != nil {
				return err
			}
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	response.ContentLength = int64(len(text))
	response.Header.Set("Content-Length", strconv.Itoa(len(text)))
	response.Header.Del("X-Amz-Crc32")
	return nil
}

type object = map[string]any

func respond(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(value)
}

// lambda has the functions and the mapping that feeds Step.
func (a *standIn) lambda(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var in object
	_ = json.NewDecoder(r.Body).Decode(&in)
	parts := strings.Split(r.URL.Path, "/")
	switch name := parts[min(3, len(parts)-1)]; {
	case parts[2] == "event-source-mappings" && r.Method == "GET":
		all := []object{}
		if strings.HasSuffix(r.URL.Query().Get("FunctionName"), "-StepFunction:live") {
			all = append(all, object{"UUID": "step", "State": map[bool]string{true: "Enabled", false: "Disabled"}[a.mapping]})
		}
		respond(w, object{"EventSourceMappings": all})
	case parts[2] == "event-source-mappings" && name == "step":
		a.mapping = in["Enabled"] == true
		respond(w, object{})
	case a.functions[name] == 0:
		w.WriteHeader(http.StatusNotFound)
	case parts[4] == "configuration":
		respond(w, object{"Timeout": a.functions[name]})
	case r.Method == "DELETE":
		delete(a.reserved, name)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == "PUT":
		a.reserved[name] = int(in["ReservedConcurrentExecutions"].(float64))
		respond(w, in)
	default:
		answer := object{}
		if n, ok := a.reserved[name]; ok {
			answer["ReservedConcurrentExecutions"] = n
		}
		respond(w, answer)
	}
}

// scheduler has the schedule of Sweep.
func (a *standIn) scheduler(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == "GET" {
		respond(w, object{"Name": "sweep", "State": a.schedule, "ScheduleExpression": "rate(1 minute)"})
		return
	}
	var in struct{ State, ScheduleExpression string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.ScheduleExpression != "rate(1 minute)" {
		a.tb.Errorf("the schedule becomes %+v, %v", in, err)
	}
	a.schedule = in.State
	respond(w, object{})
}

// stopped reports whether nothing of the deployment runs.
func (a *standIn) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.functions {
		if n, ok := a.reserved[name]; !ok || n != 0 {
			return false
		}
	}
	return !a.mapping && a.schedule == "DISABLED"
}
