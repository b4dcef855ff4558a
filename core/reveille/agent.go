package reveille

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/plugins/permission"
)

// Types and functions that define agents.
type (
	// Parts are agents as data, with the models, tools and plugins that they name. Agents
	// in files are read by package core/agent/specfile, which returns Parts.
	Parts = agent.Parts
	// AgentSpec is an agent as data.
	AgentSpec = agent.Spec
	// Model generates the responses of an agent. A provider's package makes one.
	Model = model.Model
	// ModelBinding is a model under the name by which its provider knows it.
	ModelBinding = agent.ModelBinding
	// Models are the models of Parts, by the ids that specs use.
	Models = map[string]agent.ModelBinding
	// Adapters make the models of providers that are data, by the names that providers use:
	// {"openai": openai.Adapter}.
	Adapters = map[string]func(agent.ProviderSpec) (Model, error)
)

// Setting is the value of one section of a spec: a plugin's settings for one agent. The Setting
// method of a [Section] makes one.
// [Section]'s Setting method makes one.
type Setting = plugin.Setting

// Sections returns settings as a spec has them, by their names.
func Sections(settings ...Setting) map[string]json.RawMessage { return plugin.Sections(settings...) }

// Permission rules decide which calls may run.
type (
	// Permissions are the settings of [PermissionPlugin] for one agent, see [Permit].
	Permissions = permission.Config
	// PermissionRule is one rule: a pattern of calls, and whether they run, need approval or
	// are denied.
	PermissionRule = permission.Rule
)

// The effects of a rule and of a denial.
const (
	RuleAllow = permission.Allow // the call runs
	RuleAsk   = permission.Ask   // a person decides
	RuleDeny  = permission.Deny  // the call does not run
	// FailCall is a value of Permissions.OnDeny: a denied call fails, and the model reads that.
	// By default a denial blocks the run.
	FailCall = permission.FailCall
)

// PermissionPlugin returns the plugin that holds calls to permission rules. Specs name it
// "permission".
func PermissionPlugin() Plugin { return permission.Plugin{} }

// Permit returns permission rules as a setting, for [Sections].
func Permit(p Permissions) Setting { return permission.Section.Setting(p) }

// Settings of delegates: of the agents that an agent may run.
type (
	// DelegateSettings are the settings of one delegate, see [Delegate].
	DelegateSettings = delegate.Settings
)

// The values of DelegateSettings that are not the defaults.
const (
	// DelegateKept is a value of DelegateSettings.Thread: the delegate remembers the calls of a
	// thread.
	DelegateKept = delegate.ThreadKept
	// DelegateDetach is a value of DelegateSettings.OnParentEnd: the delegate continues when the
	// run that has called it ends.
	DelegateDetach = delegate.Detach
)

// Delegate returns the settings of delegates by their ids as a setting, for [Sections]. A
// delegate needs none: AgentSpec.Delegates names it.
func Delegate(agents map[string]DelegateSettings) Setting {
	return delegate.Section.Setting(delegate.Config{Agents: agents})
}

// Stop policies end a run before its model does.
type (
	// StopSpec is a built-in stop policy as data, in AgentSpec.Stop.
	StopSpec = agent.StopSpec
	// StopPolicy decides after each turn whether the run must stop.
	StopPolicy = agent.StopPolicy
	// StopFunc is a function as a StopPolicy.
	StopFunc = agent.StopFunc
	// StopView is the information that a policy decides on.
	StopView = agent.StopView
)

// Stop returns the verdict of a StopFunc that ends the run. Clients read code and detail.
func Stop(code, detail string) *Termination {
	return &Termination{Type: TerminationStopped, Code: code, Detail: detail}
}
