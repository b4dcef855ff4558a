// Package timer lets an agent wait: for some seconds, or until a time. Until then nothing
// runs, and nothing is billed.
//
// An agent that names the plugin has the tool wait_until. Its settings are the section timer of
// the agent's spec:
//
//	plugins: [timer]
//	sections:
//	  timer:
//	    max_wait_seconds: 86400    # the longest wait of a call; 366 days is the default, and the limit
//	    keep: true                 # a person's message does not end a wait; false is the default
//
// In a spec that is written in Go:
//
//	agent.Spec{
//		ID: "watch", Model: "default", Plugins: []string{timer.ID},
//		Sections: plugin.Sections(timer.Section.Setting(timer.Config{MaxWaitSeconds: 86400})),
//	}
//
// # The tool
//
// A call has either time, in the format of RFC 3339, or seconds, and optionally a note, which
// people see and the result repeats. A time that has passed ends the wait at once.
//
// The call waits with a ticket of kind [core.TicketTimer]. In a local process it continues
// within a second of its time, also after a restart. On AWS, SQS holds back
// the message of a wait of up to 15 minutes. For a longer wait, the sweep sends that message ten
// minutes before the time.
//
// A person may decide earlier: action resume wakes the call, and cancel cancels it. The result tells
// who woke it: {"woken": "time"} or {"woken": "person"}, with the user, if one is known, as "user", and
// the payload of that decision as "said".
// A message of a person cancels the wait, unless the settings say keep: then the message waits
// until the call has its result.
//
// Your own tools wait in the same way: they return tool.Suspended with a WakeAt, see
// [core.TicketRequest].
package timer
