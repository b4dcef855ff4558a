package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"

	"github.com/BurntSushi/toml"

	"github.com/reveille-run/reveille/adapters/models/bedrock/profile"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// place is what is examined: a file, a stack, or the resources that variables name.
type place struct {
	file                   string
	stack, region, profile string
	environment            string // in samconfig.toml
	parked, trigger        string // without a stack
	resources              resources
}

// resources are the names of a deployment's resources. An empty one is unknown.
type resources struct {
	table, config, bucket      string
	queue, deadLetters, parked string
	trigger                    string // the ARN of the function
}

// from takes what the arguments leave open from the environment.
func (p *place) from(s settings.Settings) error {
	if given := p.given(); given > 1 {
		return errors.New("-data, -stack and -env exclude each other")
	} else if given == 1 {
		return p.ofEnvironment()
	}
	switch {
	case s.Table != "":
		if s.Config == "" {
			return errors.New("REVEILLE_TABLE is set, so REVEILLE_CONFIG_TABLE must be set, too")
		}
		p.resources = resources{table: s.Table, config: s.Config, bucket: s.Bucket, queue: s.QueueURL, deadLetters: s.DeadLetterURL, parked: p.parked, trigger: p.trigger}
		return nil
	}
	p.file = s.Data
	return nil
}

// given is how many places the arguments name.
func (p *place) given() (n int) {
	for _, name := range []string{p.file, p.stack, p.environment} {
		if name != "" {
			n++
		}
	}
	return n
}

// samconfig is the file of the environments, which make deploy reads, too.
const samconfig = "samconfig.toml"

// ofEnvironment takes stack, region and profile from the section of the environment, or what
// it lacks from the environment's global section.
func (p *place) ofEnvironment() error {
	if p.environment == "" {
		return nil
	}
	type section struct {
		Parameters struct {
			Stack   string `toml:"stack_name"`
			Region  string `toml:"region"`
			Profile string `toml:"profile"`
		} `toml:"parameters"`
	}
	var all map[string]toml.Primitive // the version is no section
	meta, err := toml.DecodeFile(samconfig, &all)
	var sections map[string]section
	if own, ok := all[p.environment]; ok && err == nil {
		err = meta.PrimitiveDecode(own, &sections)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", samconfig, err)
	}
	deploy, global := sections["deploy"].Parameters, sections["global"].Parameters
	p.stack = cmp.Or(deploy.Stack, global.Stack)
	p.region = cmp.Or(p.region, deploy.Region, global.Region)
	p.profile = cmp.Or(p.profile, deploy.Profile, global.Profile)
	if p.stack == "" {
		return fmt.Errorf("%s names no stack of the environment %q: want a setting stack_name in [%[2]s.deploy.parameters]", samconfig, p.environment)
	}
	return nil
}

// target is an opened place.
type target struct {
	name     string
	store    store.Backend
	threads  func(context.Context, int64) iter.Seq2[core.ThreadKey, error]
	stopped  bool   // no worker runs
	endpoint string // of DynamoDB; empty: a file
	queues   []namedQueue
	trigger  func(context.Context, json.RawMessage) error // invokes the function; nil: it is not known
	close    func() error
}

// namedQueue is a queue with the name of its check.
type namedQueue struct {
	check string
	queue *sqs.Queue
}

// open opens the place. log receives the messages of the SAM CLI.
func (p place) open(ctx context.Context, log io.Writer) (*target, error) {
	if p.file != "" {
		return openFile(p.file)
	}
	if p.stack != "" {
		var err error
		if p.resources, err = p.outputs(ctx, log); err != nil {
			return nil, err
		}
		for name, value := range map[string]string{"AWS_PROFILE": p.profile, "AWS_REGION": p.region} {
			if value == "" {
				continue
			}
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
	}
	return openResources(ctx, p.resources)
}

// openFile opens the file of a local host, which must not run.
func openFile(path string) (*target, error) {
	if path == "memory" {
		return nil, errors.New("REVEILLE_DATA is memory, which only its process can read: want a file")
	}
	if _, err := os.Stat(path); err != nil { // bolt would create the file
		return nil, err
	}
	file, err := bolt.Open(path, bolt.Options{})
	if errors.Is(err, bolt.ErrLocked) {
		return nil, fmt.Errorf("%w: stop the local host first", err)
	}
	if err != nil {
		return nil, err
	}
	threads := func(ctx context.Context, _ int64) iter.Seq2[core.ThreadKey, error] {
		return func(yield func(core.ThreadKey, error) bool) {
			keys, err := file.Threads(ctx, "")
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
			if err != nil {
				yield(core.ThreadKey{}, err)
			}
		}
	}
	return &target{name: "file " + path, store: file, threads: threads, stopped: true, close: file.Close}, nil
}

// outputs reads the names of a stack's resources from its outputs.
func (p place) outputs(ctx context.Context, log io.Writer) (r resources, err error) {
	if _, err := exec.LookPath("sam"); err != nil {
		return r, errors.New("the SAM CLI (command sam) is not on PATH, it reads the outputs of the stack: install it, or set REVEILLE_TABLE and the other variables")
	}
	arguments := []string{"list", "stack-outputs", "--stack-name", p.stack, "--output", "json"}
	if p.region != "" {
		arguments = append(arguments, "--region", p.region)
	}
	if p.profile != "" {
		arguments = append(arguments, "--profile", p.profile)
	}
	command := exec.CommandContext(ctx, "sam", arguments...)
	command.Stderr = log
	text, err := command.Output()
	if err != nil {
		return r, fmt.Errorf("read the outputs of the stack %s: %w", p.stack, err)
	}
	var all []struct{ OutputKey, OutputValue string }
	if err := json.Unmarshal(text, &all); err != nil {
		return r, fmt.Errorf("read the outputs of the stack %s: %w", p.stack, err)
	}
	to := map[string]*string{
		"TableName": &r.table, "ConfigTableName": &r.config, "PayloadBucketName": &r.bucket, "QueueUrl": &r.queue,
		"DeadLetterQueueUrl": &r.deadLetters, "TriggerDeadLetterQueueUrl": &r.parked,
		"TriggerFunctionArn": &r.trigger,
	}
	for _, o := range all {
		if value := to[o.OutputKey]; value != nil {
			*value = o.OutputValue
		}
	}
	if r.table == "" || r.config == "" {
		return r, fmt.Errorf("the stack %s has no outputs TableName and ConfigTableName: check that it was deployed from this template", p.stack)
	}
	return r, nil
}

// openResources makes the clients; it sends no request.
func openResources(ctx context.Context, r resources) (*target, error) {
	account, err := profile.Load(ctx)
	if err != nil {
		return nil, err
	}
	client, err := dynamo.NewClient(account)
	if err != nil {
		return nil, err
	}
	queues, err := sqs.NewClient(account)
	if err != nil {
		return nil, err
	}
	options := dynamo.Options{Table: r.table, ConfigTable: r.config}
	if r.bucket != "" {
		bucket, err := s3.New(account, r.bucket)
		if err != nil {
			return nil, err
		}
		options.Objects = bucket
	}
	s := dynamo.New(client, options)
	t := &target{name: "table " + r.table, store: s, threads: s.Threads, close: func() error { return nil }}
	if t.endpoint = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"); t.endpoint == "" {
		t.endpoint = "https://dynamodb." + account.Region + ".amazonaws.com"
	}
	if r.trigger != "" {
		t.trigger = invoker(account, r.trigger)
	}
	for _, q := range []struct{ check, url string }{{queueCheck, r.queue}, {deadLetterCheck, r.deadLetters}, {parkedCheck, r.parked}} {
		if q.url != "" {
			t.queues = append(t.queues, namedQueue{q.check, sqs.New(queues, q.url)})
		}
	}
	return t, nil
}
