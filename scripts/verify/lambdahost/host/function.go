package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Function is a Lambda function.
type Function struct {
	Name      string // required
	Bootstrap string // required: the path of its executable
	// Env is added to the variables that Lambda sets, as "NAME=value"; nothing
	// is inherited from the host's environment.
	Env         []string
	Timeout     time.Duration // of an invocation; 0: 30 s
	InitTimeout time.Duration // from start to the first request for an event; 0: 10 s, as in Lambda
	MemoryMB    int           // announced only, not enforced; 0: 256
	Concurrency int           // most sandboxes; further invocations wait; 0: 10
	NoFreeze    bool          // do not freeze sandboxes between invocations
}

func (f Function) withDefaults() (Function, error) {
	if f.Name == "" {
		return f, errors.New("function: name is empty")
	}
	path, err := filepath.Abs(f.Bootstrap)
	if err != nil {
		return f, fmt.Errorf("function %s: %w", f.Name, err)
	}
	if _, err := os.Stat(path); err != nil {
		return f, fmt.Errorf("function %s: %w", f.Name, err)
	}
	f.Bootstrap = path
	if f.Timeout <= 0 {
		f.Timeout = 30 * time.Second
	}
	if f.InitTimeout <= 0 {
		f.InitTimeout = 10 * time.Second
	}
	if f.MemoryMB <= 0 {
		f.MemoryMB = 256
	}
	if f.Concurrency <= 0 {
		f.Concurrency = 10
	}
	return f, nil
}

func (f Function) arn() string {
	return "arn:aws:lambda:us-east-1:123456789012:function:" + f.Name
}

// environ is what Lambda gives a custom runtime. A caller may override all but
// what makes the function run here.
func (f Function) environ(runtimeAPI string) []string {
	env := []string{
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
		"PATH=/usr/local/bin:/usr/bin:/bin",
	}
	env = append(env, f.Env...)
	return append(env,
		"AWS_LAMBDA_RUNTIME_API="+runtimeAPI,
		"AWS_LAMBDA_FUNCTION_NAME="+f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE="+strconv.Itoa(f.MemoryMB),
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/"+f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=local",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"LAMBDA_TASK_ROOT="+filepath.Dir(f.Bootstrap),
		"LAMBDA_RUNTIME_DIR="+filepath.Dir(f.Bootstrap),
		"_HANDLER=bootstrap",
	)
}
