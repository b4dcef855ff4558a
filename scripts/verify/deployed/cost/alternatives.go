package cost

// Prices of other services that can run such steps, in USD, us-east-1, from their public
// price pages on AlternativesDay. They are not in the table of adapters/aws/env/prices,
// since Reveille uses none of these services.
const (
	AlternativesDay = "2026-11-21"

	durableOperation  = 8 / 1e6    // Lambda durable functions
	durableGB         = 0.25       // written by checkpoints
	transition        = 25 / 1e6   // Step Functions, standard workflows
	agentCoreCPU      = 0.0895     // a vCPU-hour of AgentCore Runtime that is used
	agentCoreGB       = 0.00945    // a GB-hour of it
	agentCoreEvent    = 0.25 / 1e3 // put into AgentCore Memory
	fargateCPU        = 0.03238    // a vCPU-hour, arm64
	fargateGB         = 0.00356    // a GB-hour
	loadBalancerHour  = 0.0225     // an application load balancer, without what it carries
	transactionUnits  = 42         // write units of a step whose outbox is a transaction
	durableOperations = 3          // of a step: its model call and two tools
	transitionsOfStep = 5          // of a step: model, choice, two tools, join
	checkpointKB      = 6          // of a step
)

// Alternative is another way to run 1,000 steps, or a month of it.
type Alternative struct {
	Name    string
	How     string // the arithmetic
	USD     float64
	Monthly bool // USD is per month, used or unused; otherwise per 1,000 steps
}

// Alternatives are computed, not measured: their prices for the work of one step. The step
// is that of [Account.Step]; functions have the same size and the same waits.
func (a Account) Alternatives() []Alternative {
	step := a.Step().times(1000)
	seconds := ModelSeconds + ToolSeconds/2
	compute := step.Duration + step.Requests
	hours := 1000 * seconds / 3600
	cpu := (a.Work[Calls].CPU + a.Work[Answer].CPU) / 2 / 1000 * 1000 / 3600 // vCPU-hours of 1,000 steps
	gb := float64(a.MemoryMB) / 1024
	return []Alternative{
		{"Reveille, with functions of four times the memory", "the same step; its duration costs four times as much", step.Sum() + 3*step.Duration, false},
		{"a table with a transactional outbox", "42 write units a step instead of ours", step.Sum() - step.Table + 1000*transactionUnits*a.Prices.Million.WriteUnits/1e6, false},
		{"Lambda durable functions (not for Go)", "3 operations at 8 USD/M, 6 KB at 0.25 USD/GB and the same compute", 1000*(durableOperations*durableOperation+checkpointKB*1e3/1e9*durableGB) + compute, false},
		{"Step Functions, standard", "5 transitions at 25 USD/M (model, choice, two tools, join) and the same compute; storage of the conversation is extra", 1000*transitionsOfStep*transition + compute, false},
		{"AgentCore Runtime", "used vCPU at 0.0895 USD/h, memory at 0.00945 USD/GB-h during the step; no store, no idle minutes of the session", cpu*agentCoreCPU + hours*gb*agentCoreGB, false},
		{"AgentCore Runtime and Memory", "the same, and 3 events at 0.25 USD per 1,000", cpu*agentCoreCPU + hours*gb*agentCoreGB + 1000*3*agentCoreEvent, false},
		{"Fargate, two tasks of 0.25 vCPU and 0.5 GB (arm64) behind a load balancer", "0.03238 USD/vCPU-h, 0.00356 USD/GB-h and 0.0225 USD/h for 730 h; no database", 730 * (2*(0.25*fargateCPU+0.5*fargateGB) + loadBalancerHour), true},
	}
}
