// Package permission decides by rules which tool calls of an agent run, which wait for a
// person, and which never run.
//
// An agent that names the plugin has its rules in the section permission of its spec:
//
//	plugins: [permission]
//	sections:
//	  permission:
//	    default_behavior: ask          # of calls that no rule matches; ask is the default
//	    on_deny: block_run             # or fail_call; block_run is the default
//	    rules:
//	      - {tool: read_file, behavior: allow}
//	      - {tool: "Bash(npm *)", behavior: allow}
//	      - {tool: "deploy", behavior: ask, scope: thread}
//	      - {tool: "Edit(file_path ~ '/etc/*')", behavior: deny}
//
// In a spec that is written in Go:
//
//	agent.Spec{
//		ID: "coder", Model: "default", Plugins: []string{permission.ID},
//		Sections: plugin.Sections(permission.Section.Setting(permission.Config{
//			Rules: []permission.Rule{{Tool: "read_file", Behavior: permission.Allow}},
//		})),
//	}
//
// The tool of a rule is a pattern of package pattern. An invalid section is an error when
// the host is made; it names the agent and the rule.
//
// # Which rule decides
//
// Deny beats allow, allow beats ask, however specific they are. Among rules of one
// behaviour the most specific one decides, the first of equals: it gives the reason, and
// nothing else depends on it. A call that no rule matches has the default behaviour.
//
// A rule that denies or asks matches a call if it does so under any reading of its
// arguments, one that allows if it does so under all; see package pattern. And those that
// deny or ask match loosely: upper and lower case, compatibility and combining forms of
// Unicode characters and characters that are not seen make no difference, so that no
// model gets around one by spelling a text otherwise. The names of tools are compared as
// they are: a model can call only what is registered, under the name that it has.
//
// # Effects of a rule
//
// A call that is denied ends the run, as blocked; with on_deny fail_call the model gets a
// result with that reason instead, whose status is denied. A tool that is denied for all
// arguments is not shown to the model at all.
//
// If a rule asks, the call waits for a person. Its suspension has the action
// tool:PermissionConfirm and, as parameters, the tool and its arguments. It also has the
// rule that asks, if that is more than the tool's name. When a decision lets the call
// continue, the rules are checked again: a deny holds then as well.
//
// A tool whose spec has an Approval asks that question itself, under any rules. A rule that
// allows the tool does not answer it, and a rule that asks is a second question after it.
// Each is remembered by itself; [Forget] withdraws both.
//
// # Remembered answers
//
// A decision may have remember: run or thread. Then the same tool with the same arguments
// does not ask again until the run ends, or in the thread, by this agent in any of its
// runs: it is allowed, or denied as the person has denied it. Arguments are the same if
// they have the same content, in any order and spelling; arguments that can be read in two
// ways ask each time. That is narrow on purpose: an approval of "git push origin" is not an
// approval of "git push --force".
//
// With remember_as: rule the answer holds for every call for which the asking rule decides.
// Another ask rule that is more specific still asks. If the default asked, not a rule, the
// answer holds for every call of the tool for which the default asks again. Removing a rule
// from the spec also removes the answers to it.
//
// An ask rule may set the same itself: with scope run or thread an approval holds, as a
// rule, so long, unless the decision has remember: once. So such a rule asks once.
//
// Remembered answers lie in the state of the run or thread, and survive crashes and
// restarts. They belong to the agent: another one that takes the thread over does not
// inherit them. Rules that deny outrank them, and [Forget] withdraws them.
//
// # Scopes of rules
//
// The rules of a spec are read from the spec that a run is pinned to, at each call, and
// are never copied into a thread: a changed rule holds from each thread's next run on. The
// scope of such a rule is
//
//	project  as long as the spec has it; the default
//	once     of a rule that allows: for one call of each run; of one that asks, an
//	         approval is for one call, as with project
//	run      of a rule that asks: one approval holds until the run ends
//	thread   of a rule that asks: one approval holds as long as the thread
//
// In Go they are core.RememberOnce, RememberRun and RememberThread; no scope is project.
//
// Other plugins and tools may grant rules at run time by [Rule.Grant], with the scope once
// (of a rule that allows: for one call, of this run), run or thread.
package permission
