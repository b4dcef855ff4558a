package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// config is the command line.
type config struct {
	functions []host.Function
	fronts    []front
	queues    []queueSource
	schedules []schedule
	invoke    *invocation // nil: it runs until it is interrupted
	environ   []string
	verbose   bool
	scratch   bool
}

type front struct {
	host.Front
	address string
}

type queueSource struct {
	url, function string
	batch         int
	retry         *time.Duration
}

// invocation is one event for one function.
type invocation struct{ function, file string }

type schedule struct {
	every    time.Duration
	function string
}

func (q queueSource) name() string { return path.Base(q.url) }

func (c *config) level() slog.Level {
	if c.verbose {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func parse(args, environ []string, output io.Writer) (*config, error) {
	c := &config{environ: environ}
	var noFreeze bool
	flags := flag.NewFlagSet("lambdahost", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Func("function", "`name=path[,timeout=30s][,memory=256][,concurrency=10]`: a built bootstrap; repeatable", c.addFunction)
	flags.Func("http", "`address=function[:url|rest|http]`: serve HTTP as a Function URL, a REST API or an HTTP API; repeatable", c.addFront)
	flags.Func("queue", "`queue-url=function[,batch=10][,retry=5s]`: poll an SQS queue; failed messages come again after retry, or after the queue's visibility timeout; repeatable", c.addQueue)
	flags.Func("every", "`interval=function`: invoke on a schedule; repeatable", c.addSchedule)
	flags.Func("invoke", "`name=file`: invoke a function once with the event of a JSON file, print its response and end", c.setInvoke)
	flags.Func("env", "`NAME=value`: set a variable for every function; repeatable", c.addEnv)
	flags.BoolVar(&c.scratch, "scratch", false, "make tables and a queue at AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_SQS, unless they are there, and name them to the functions")
	flags.BoolVar(&noFreeze, "no-freeze", false, "let sandboxes run between invocations")
	flags.BoolVar(&c.verbose, "v", false, "log starts and ends of sandboxes")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if len(c.functions) == 0 {
		flags.Usage()
		return nil, errors.New("no -function")
	}
	for i := range c.functions {
		c.functions[i].Env, c.functions[i].NoFreeze = c.environ, noFreeze
	}
	return c, c.check()
}

// check finds front ends of functions that are not there.
func (c *config) check() error {
	known := map[string]bool{}
	for _, f := range c.functions {
		known[f.Name] = true
	}
	var used []string
	for _, f := range c.fronts {
		used = append(used, f.Function)
	}
	for _, q := range c.queues {
		used = append(used, q.function)
	}
	for _, s := range c.schedules {
		used = append(used, s.function)
	}
	if c.invoke != nil {
		if len(used) > 0 {
			return errors.New("-invoke ends after one event: it goes with no -http, -queue or -every")
		}
		used = append(used, c.invoke.function)
	}
	for _, name := range used {
		if !known[name] {
			return fmt.Errorf("there is no -function %s", name)
		}
	}
	return nil
}

func (c *config) addFunction(value string) error {
	name, rest, err := cut(value)
	if err != nil {
		return err
	}
	file, settings, _ := strings.Cut(rest, ",")
	f := host.Function{Name: name, Bootstrap: file}
	err = each(settings, map[string]func(string) error{
		"timeout":     func(v string) (err error) { f.Timeout, err = time.ParseDuration(v); return err },
		"memory":      func(v string) (err error) { f.MemoryMB, err = strconv.Atoi(v); return err },
		"concurrency": func(v string) (err error) { f.Concurrency, err = strconv.Atoi(v); return err },
	})
	c.functions = append(c.functions, f)
	return err
}

func (c *config) addFront(value string) error {
	address, rest, err := cut(value)
	if err != nil {
		return err
	}
	function, shape, _ := strings.Cut(rest, ":")
	f := front{address: address, Front: host.Front{Function: function, Shape: host.Shape(shape)}}
	c.fronts = append(c.fronts, f)
	return f.Shape.Check()
}

func (c *config) addQueue(value string) error {
	url, rest, err := cut(value)
	if err != nil {
		return err
	}
	function, settings, _ := strings.Cut(rest, ",")
	q := queueSource{url: url, function: function}
	err = each(settings, map[string]func(string) error{
		"batch": func(v string) (err error) { q.batch, err = strconv.Atoi(v); return err },
		"retry": func(v string) error {
			retry, err := time.ParseDuration(v)
			q.retry = &retry
			return err
		},
	})
	c.queues = append(c.queues, q)
	return err
}

func (c *config) addSchedule(value string) error {
	interval, function, err := cut(value)
	if err != nil {
		return err
	}
	every, err := time.ParseDuration(interval)
	if err == nil && every <= 0 {
		err = errors.New("the interval is not positive")
	}
	c.schedules = append(c.schedules, schedule{every: every, function: function})
	return err
}

func (c *config) setInvoke(value string) error {
	name, file, err := cut(value)
	if err == nil && c.invoke != nil {
		err = errors.New("given twice")
	}
	c.invoke = &invocation{function: name, file: file}
	return err
}

func (c *config) addEnv(value string) error {
	_, _, err := cut(value)
	c.environ = append(c.environ[:len(c.environ):len(c.environ)], value)
	return err
}

func cut(value string) (before, after string, err error) {
	before, after, ok := strings.Cut(value, "=")
	if !ok || before == "" {
		return "", "", errors.New("no '='")
	}
	return before, after, nil
}

// each reads comma-separated settings.
func each(settings string, setters map[string]func(string) error) error {
	for setting := range strings.SplitSeq(settings, ",") {
		if setting == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		set := setters[name]
		if set == nil {
			return fmt.Errorf("unknown setting %q", name)
		}
		if err := set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
