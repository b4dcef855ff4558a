// Package delegate lets an agent leave work to other agents. Each of the delegates of an
// agent's spec becomes a tool agent_run_{id}, whose call runs that agent on a separate thread
// and waits for its answer. While it waits, nothing runs for the call, and nothing is billed.
//
// An agent with delegates has the plugin without naming it, if the program registers it, as
// reveille.New and the functions do:
//
//	id: support
//	delegates: [researcher, writer]
//	sections:
//	  delegate:
//	    agents:
//	      researcher:
//	        thread: kept            # it remembers what it was asked on this thread; new is the default
//	        on_parent_end: detach   # it continues when the run is over; cancel is the default
//
// In a spec that is written in Go:
//
//	agent.Spec{
//		ID: "support", Model: "default", Delegates: []string{"researcher", "writer"},
//		Sections: plugin.Sections(delegate.Section.Setting(delegate.Config{
//			Agents: map[string]delegate.Settings{"researcher": {Thread: delegate.ThreadKept}},
//		})),
//	}
//
// # The tools
//
// A call has a prompt, which is the only message that the delegate receives. On a kept thread it
// also has the calls before. The description of the tool is that of the delegate's spec, by which a model chooses.
// The agent's allowed tools need not name the tool, and its excluded tools can name it. The id
// of a delegate must fit a tool's name: no "." or ":", and at most 54 characters.
//
// The result of a call whose delegate has answered is data:
//
//	{"agent_id":"researcher","status":"completed","response":"…","output":"…","steps":2}
//
// The response is the text of the delegate's last turn. The output is its answer as JSON if the
// spec of the delegate has a response_format, and otherwise the response again. A delegate
// that a stop policy has stopped has answered, too: its status is "stopped", and the member
// stopped names the policy, such as "max_rounds". A response of more than 255 KB is cut, and
// "cut" is true. In each other case the call has failed:
//
//	delegation to researcher failed: blocked: rule "deny shell"
//	delegation to researcher failed: model: overloaded
//	delegation to researcher cancelled
//	delegation to researcher timed out
//
// The metadata of the result has the id of the run, as child_run_id.
//
// A delegate that waits for a person makes no difference to the call, which continues to wait.
// A delegate can have delegates, too. [core.MaxDepth] limits the depth, and a call of an
// agent that waits for this very call fails with the path: delegation to a failed: cycle
// a -> b -> a.
//
// Your own tools start agents in the same way, see [tool.Call.Start].
package delegate
