// Package background lets an agent run other agents in the background, and lets agents of one
// user send each other messages.
//
// An agent that names the plugin has six tools. Its settings are the section background of the
// agent's spec:
//
//	plugins: [background]
//	sections:
//	  background:
//	    agents: [researcher, writer]   # that it may start, and name in messages; the spec's delegates is the default
//
// In a spec that is written in Go:
//
//	agent.Spec{
//		ID: "lead", Model: "default", Plugins: []string{background.ID},
//		Sections: plugin.Sections(background.Section.Setting(background.Config{Agents: []string{"researcher"}})),
//	}
//
// # Tasks
//
//	start_agent {agent_id, prompt, name?}   {"task_id":"bg_0","run_id":"...","agent_id":"researcher","status":"running"}
//	agent_status {task_id}                  {"task_id":"bg_0","agent_id":"researcher","run_id":"...","status":"running","steps":3}
//	agent_output {task_id}                  {"task_id":"bg_0","status":"completed","output":"..."}
//	cancel_task {target}                    {"status":"accepted","root_task_id":"bg_0","cancelled_count":1}
//
// A task is a run on a separate thread. The call of start_agent does not wait for it. A thread
// names its tasks bg_0, bg_1 and so on: the number of a task that starts alongside other calls
// counts those before it, so that numbers can be missing. The thread remembers its newest 100
// tasks, and any of its runs can ask for them.
//
// An output of more than 160 KiB is cut, and has "cut":true.
//
// The status is running, completed, failed or cancelled. A task that waits for a person is
// running. When a task is over, the run that has started it reads that at its next step.
//
// The target of cancel_task is {"relation":"self"}, the run of the call, or
// {"relation":"child","name":"bg_0"}, a task by its id or its name. The agents that a
// run has delegated to end with it, and the tasks that it has started continue.
//
// # Messages
//
//	send_message {to, message}              {"message_id":"...","status":"queued"}
//	recover_failed_messages {action}        {"messages":[...]}, {"replayed":1,"left":0} or {"cleared":1}
//
// A message goes to {"relation":"parent"}, the thread whose call has started the run; to
// {"relation":"child","name":"bg_0"}, a task; or to {"relation":"agent","thread_id":"t2"}, any
// thread of the same user, with the agent_id of the run that it starts there if no run is open.
// The run that is open reads it at its next step. It is stored with status queued, and
// delivered after the step, once. Messages to one thread arrive in order. A thread has at most
// eight messages on the way.
//
// Delivery is tried five times: immediately, then after 1, 5, 30 and 120 minutes. Then the
// message is failed: recover_failed_messages lists, replays or clears the failed messages of
// the thread. Errors have a code: recipient_not_found, recipient_unavailable, recipient_full,
// outbox_full, message_lost, delivery_failed, agent_not_allowed; those of cancel_task are
// task_not_found and not_running.
package background
