package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
)

// table is what a fake account has of a table.
type table struct {
	Source                string
	RestoreTo             int64
	TTL                   string
	Backups               bool
	Protected             bool
	MaxReads, MaxWrites   int64
	Tags                  map[string]string
	early, creating, slow int // how often backups are refused, and the table and an index are said to be created
}

// cloud is a fake account with the services that a restore calls.
type cloud struct {
	t                *testing.T
	mu               sync.Mutex
	tables           map[string]*table
	reserved         map[string]*int
	mappings         map[string]string // their state
	schedules        map[string]string
	versions         []version // of objects
	markers          []version
	removed          map[version]bool // a request that the client has given up may come after it has asked again
	unversioned      bool
	purged           bool // the bucket is deleted
	calls            int
	failAt           int // the call that is refused; 0: none
	earliest, latest time.Time
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	c.calls++
	if c.calls == c.failAt {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","message":"no"}`)
		return
	}
	var in map[string]any
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			c.t.Errorf("%s: %v", body, err)
		}
	}
	_, target, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, answer := 200, any(nil)
	switch {
	case target != "":
		status, answer = c.dynamodb(target, in)
	case strings.HasPrefix(r.URL.Path, "/schedules/"):
		answer = c.scheduler(r, in)
	case strings.HasPrefix(r.URL.Path, "/payloads"):
		c.s3(w, r)
		return
	default:
		status, answer = c.lambda(r, in)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

type fields = map[string]any

func refused(name string) (int, any) {
	return 400, fields{"__type": "com.amazonaws.dynamodb#" + name, "message": name}
}

func (c *cloud) dynamodb(target string, in fields) (int, any) {
	name, _ := in["TableName"].(string)
	if arn, ok := in["ResourceArn"].(string); ok {
		name = arn[strings.LastIndex(arn, "/")+1:]
	}
	if target == "RestoreTableToPointInTime" {
		name = in["TargetTableName"].(string)
		c.tables[name] = &table{Source: in["SourceTableName"].(string), RestoreTo: int64(in["RestoreDateTime"].(float64)), creating: 2, slow: 3, early: 1, MaxReads: -1, MaxWrites: -1}
		if in["BillingModeOverride"] != "PAY_PER_REQUEST" {
			c.t.Errorf("billing mode %v", in["BillingModeOverride"])
		}
		return 200, fields{}
	}
	t := c.tables[name]
	if t == nil {
		return refused("ResourceNotFoundException")
	}
	switch target {
	case "DescribeTable":
		return 200, fields{"Table": c.described(name, t)}
	case "DescribeContinuousBackups":
		status := "DISABLED"
		if t.Backups {
			status = "ENABLED"
		}
		return 200, fields{"ContinuousBackupsDescription": fields{"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": fields{
			"PointInTimeRecoveryStatus": status, "EarliestRestorableDateTime": c.earliest.Unix(), "LatestRestorableDateTime": c.latest.Unix(), "RecoveryPeriodInDays": 20}}}
	case "UpdateContinuousBackups":
		if t.early > 0 {
			t.early--
			return refused("ContinuousBackupsUnavailableException")
		}
		if s := in["PointInTimeRecoverySpecification"].(fields); s["PointInTimeRecoveryEnabled"] == true && s["RecoveryPeriodInDays"] == 20.0 {
			t.Backups = true
		}
	case "DescribeTimeToLive":
		if t.TTL == "" {
			return 200, fields{"TimeToLiveDescription": fields{"TimeToLiveStatus": "DISABLED"}}
		}
		return 200, fields{"TimeToLiveDescription": fields{"TimeToLiveStatus": "ENABLED", "AttributeName": t.TTL}}
	case "UpdateTimeToLive":
		if t.TTL != "" {
			return refused("ValidationException")
		}
		t.TTL = in["TimeToLiveSpecification"].(fields)["AttributeName"].(string)
	case "UpdateTable":
		if v, ok := in["DeletionProtectionEnabled"].(bool); ok {
			t.Protected = v
		}
		if v, ok := in["OnDemandThroughput"].(fields); ok {
			t.MaxReads, t.MaxWrites = int64(v["MaxReadRequestUnits"].(float64)), int64(v["MaxWriteRequestUnits"].(float64))
		}
	case "ListTagsOfResource":
		var all []fields
		for _, key := range slices.Sorted(maps.Keys(t.Tags)) {
			all = append(all, fields{"Key": key, "Value": t.Tags[key]})
		}
		if in["NextToken"] == nil && len(all) > 1 {
			return 200, fields{"Tags": all[:1], "NextToken": "more"}
		}
		return 200, fields{"Tags": all[min(1, len(all)):]}
	case "TagResource":
		t.Tags = map[string]string{}
		for _, tag := range in["Tags"].([]any) {
			t.Tags[tag.(fields)["Key"].(string)] = tag.(fields)["Value"].(string)
		}
	default:
		c.t.Errorf("unexpected %s", target)
	}
	return 200, fields{}
}

func (c *cloud) described(name string, t *table) fields {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
	d := fields{"TableName": name, "TableArn": arn + name, "TableStatus": "ACTIVE", "DeletionProtectionEnabled": t.Protected}
	if t.creating > 0 {
		t.creating--
		d["TableStatus"] = "CREATING"
	}
	if t.slow > 0 {
		t.slow--
		d["GlobalSecondaryIndexes"] = []fields{{"IndexName": "due", "IndexStatus": "CREATING"}}
	}
	if t.Source != "" {
		d["RestoreSummary"] = fields{"SourceTableArn": arn + t.Source, "RestoreDateTime": t.RestoreTo, "RestoreInProgress": false}
	}
	if t.MaxReads != -1 {
		d["OnDemandThroughput"] = fields{"MaxReadRequestUnits": t.MaxReads, "MaxWriteRequestUnits": t.MaxWrites}
	}
	return d
}

func (c *cloud) scheduler(r *http.Request, in fields) any {
	name := strings.TrimPrefix(r.URL.Path, "/schedules/")
	if r.Method == "GET" {
		return fields{"Name": name, "Arn": "a", "CreationDate": 1.5, "State": c.schedules[name], "ScheduleExpression": "rate(1 minute)", "Target": fields{"Arn": "f"}}
	}
	if in["ScheduleExpression"] != "rate(1 minute)" || in["Target"].(fields)["Arn"] != "f" || in["Arn"] != nil || in["CreationDate"] != nil {
		c.t.Errorf("the schedule becomes %v", in)
	}
	c.schedules[name] = in["State"].(string)
	return fields{}
}

func (c *cloud) lambda(r *http.Request, in fields) (int, any) {
	parts := strings.Split(r.URL.Path, "/") // "", date, functions, NAME, configuration
	switch {
	case parts[2] == "event-source-mappings" && r.Method == "GET":
		if r.URL.Query().Get("FunctionName") != "mine-Step:live" {
			return 200, fields{}
		}
		if r.URL.Query().Get("Marker") == "" {
			return 200, fields{"EventSourceMappings": []fields{{"UUID": "m1", "State": c.mappings["m1"]}}, "NextMarker": "next"}
		}
		return 200, fields{"EventSourceMappings": []fields{{"UUID": "m2", "State": c.mappings["m2"]}}}
	case parts[2] == "event-source-mappings":
		if c.mappings[parts[3]] == "" {
			return 404, fields{"Message": "gone"}
		}
		c.mappings[parts[3]] = map[bool]string{true: "Enabled", false: "Disabled"}[in["Enabled"].(bool)]
	case parts[4] == "configuration":
		return 200, fields{"Timeout": map[string]int{"mine-Step": 120, "mine-Stream": 900}[parts[3]]}
	case r.Method == "GET":
		if n := c.reserved[parts[3]]; n != nil {
			return 200, fields{"ReservedConcurrentExecutions": *n}
		}
	case r.Method == "DELETE":
		c.reserved[parts[3]] = nil
		return 204, nil
	default:
		n := int(in["ReservedConcurrentExecutions"].(float64))
		c.reserved[parts[3]] = &n
	}
	return 200, fields{}
}

// s3 lists two entries a page.
func (c *cloud) s3(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.Method == "DELETE":
		n := len(c.markers) + len(c.versions)
		asked := version{Key: strings.TrimPrefix(r.URL.Path, "/payloads/"), VersionId: query.Get("versionId")}
		is := func(v version) bool { return v.Key == asked.Key && v.VersionId == asked.VersionId }
		c.markers, c.versions = slices.DeleteFunc(c.markers, is), slices.DeleteFunc(c.versions, is)
		switch {
		case r.URL.Path == "/payloads" && n == 0:
			c.purged = true
		case len(c.markers)+len(c.versions) == n && !c.removed[asked]:
			c.t.Errorf("DELETE %s removes nothing of %d versions", r.URL, n)
		}
		if c.removed == nil {
			c.removed = map[version]bool{}
		}
		c.removed[asked] = true
		w.WriteHeader(http.StatusNoContent)
	case query.Has("versioning"):
		if !c.unversioned {
			_, _ = io.WriteString(w, `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`)
		} else {
			_, _ = io.WriteString(w, `<VersioningConfiguration/>`)
		}
	default:
		c.list(w, query.Get("key-marker"), query.Get("version-id-marker"))
	}
}

func (c *cloud) list(w io.Writer, key, id string) {
	type entry struct {
		kind string
		version
	}
	var all []entry
	for _, v := range c.versions {
		v.IsLatest = !slices.ContainsFunc(c.markers, func(m version) bool { return m.Key == v.Key })
		all = append(all, entry{"Version", v})
	}
	for _, m := range c.markers {
		all = append(all, entry{"DeleteMarker", m})
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return strings.Compare(a.Key+string(rune(1e6-a.LastModified.Unix()%1e6)), b.Key+string(rune(1e6-b.LastModified.Unix()%1e6)))
	})
	if key != "" {
		all = all[1+slices.IndexFunc(all, func(e entry) bool { return e.Key == key && e.VersionId == id }):]
	}
	fmt.Fprint(w, `<ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for i, e := range all[:min(2, len(all))] {
		escaped := strings.ReplaceAll(e.Key, ":", "%3A")
		fmt.Fprintf(w, "<%s><Key>%s</Key><VersionId>%s</VersionId><IsLatest>%v</IsLatest><LastModified>%s</LastModified></%[1]s>", e.kind, escaped, e.VersionId, e.IsLatest, e.LastModified.UTC().Format("2006-01-02T15:04:05.000Z"))
		if i == 1 && len(all) > 2 {
			fmt.Fprintf(w, "<IsTruncated>true</IsTruncated><NextKeyMarker>%s</NextKeyMarker><NextVersionIdMarker>%s</NextVersionIdMarker>", escaped, e.VersionId)
		}
	}
	fmt.Fprint(w, "</ListVersionsResult>")
}

// account connects to the fake.
func (c *cloud) account(t *testing.T) *Account {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	for _, name := range []string{"DYNAMODB", "LAMBDA", "SCHEDULER", "S3"} {
		t.Setenv("AWS_ENDPOINT_URL_"+name, server.URL)
	}
	a, err := NewAccount(awsenv.Config{Region: "eu-west-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// instant is a Sleep that moves a clock.
func instant(clock *time.Time) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		*clock = clock.Add(d)
		return ctx.Err()
	}
}
