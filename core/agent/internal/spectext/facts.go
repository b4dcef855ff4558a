package spectext

import "math"

// from is the least of a number without a most.
func from(least float64) fact { return fact{least: &least} }

// within are the bounds of a number.
func within(least, most float64) fact { return fact{least: &least, most: &most} }

// says adds what the field is for.
func (f fact) says(about string) fact {
	f.about = about
	return f
}

// or adds what counts where the field is absent.
func (f fact) or(preset string) fact {
	f.preset = preset
	return f
}

func says(about string) fact { return fact{about: about} }

// object is JSON that other code interprets.
func object(about string) fact { return fact{about: about, object: true} }

// named is the id of a spec.
func named(about string) fact { return fact{about: about, name: true} }

// specFacts has the facts of a Spec for its schema, by path. Bounds are those of its Check.
func specFacts() map[string]fact {
	return map[string]fact{
		"id":                                     named("The name of the agent, for requests and other agents."),
		"description":                            says("The purpose of the agent, for people and other agents."),
		"system_prompt":                          says("Sent with every inference, never stored in a thread."),
		"model":                                  says("Id of a model or of a pool."),
		"max_rounds":                             from(0).says("Steps of a run; 0: no limit.").or("16"),
		"stop":                                   says("Further stop policies, in this order. Each has a type and the one field that belongs to it."),
		"stop.type":                              says("The policy, and the code of a run that it has stopped."),
		"stop.rounds":                            within(1, math.MaxInt32).says("max_rounds: steps of a run."),
		"stop.seconds":                           within(1, math.MaxInt32).says("timeout: since the start of the run's first step."),
		"stop.max_total":                         within(1, math.MaxInt32).says("token_budget: tokens of a run, input and output together."),
		"stop.max":                               within(1, math.MaxInt32).says("consecutive_errors: failed steps in a row. With it a model that fails costs the run a step and does not end it."),
		"stop.tool_name":                         says("stop_on_tool: the tool whose call ends the run, before it runs."),
		"stop.pattern":                           says("content_match: a regular expression (RE2), searched in the text of each turn."),
		"stop.window":                            within(2, 64).says("loop_detection: turns in a row with the same calls, or the same text."),
		"max_repairs":                            within(0, 10).says("How often a run asks the model to correct an answer that is not of response_format.").or("2"),
		"max_continuations":                      within(0, 20).says("How often a run continues a turn that the token limit cut.").or("2"),
		"retry":                                  says("The retries of a model that fails for a while."),
		"retry.max_retries":                      within(0, 20).says("Calls of the model in a step, after the first.").or("2"),
		"retry.backoff_base_ms":                  within(0, 60_000).says("The base of the growing waits between calls, in milliseconds.").or("500"),
		"retry.overloaded_backoff_base_ms":       within(0, 60_000).says("The same for a provider that is overloaded.").or("2000"),
		"retry.stream_idle_timeout_ms":           within(1_000, 600_000).says("How long a stream may be silent, in milliseconds.").or("60000"),
		"retry.patience_ms":                      within(0, 86_400_000).says("How long a step continues to call a failing model while no stream follows the run, in milliseconds. Then max_retries does not hold. 0: it holds for every run. Absent and max_retries is 0: 0.").or("900000"),
		"max_tokens":                             from(0).says("Tokens of one turn; 0: the provider's default."),
		"temperature":                            from(0).says("Absent: the provider's default."),
		"top_p":                                  within(0, 1).says("Absent: the provider's default."),
		"stop_sequences":                         says("Texts that end a turn before they are generated; at most 16."),
		"reasoning_effort":                       says("How much the model may reason; absent: the provider's default."),
		"response_format":                        says("Makes the model respond with JSON instead of free text."),
		"response_format.name":                   says("The name of the schema, for the provider: 1 to 64 of A-Z a-z 0-9 _ -"),
		"response_format.schema":                 object("JSON Schema of an object."),
		"response_format.strict":                 says("The provider enforces the schema, where it can."),
		"tool_choice":                            says("Whether the model may, must or must not call tools."),
		"tool_choice.mode":                       says("Absent: the provider's default."),
		"tool_choice.name":                       says("The tool of mode tool."),
		"provider_options":                       says("Members of a provider's own request that are added unchanged, also to requests for summaries: an object for each id of a provider."),
		"execution_mode":                         says("How the tool calls of one turn run.").or(`"sequential"`),
		"events":                                 says("When readers in other processes see the pieces of a turn: live stores the pieces in any case, commits shows only the committed turn; absent: the pieces, once such a reader follows the run."),
		"context":                                says("The part of a conversation that the model reads, in tokens."),
		"context.max_context_tokens":             from(0).says("The size of request and turn together; 0 is 200000.").or("200000"),
		"context.max_output_tokens":              from(0).says("Kept free for the turn; 0 is 16384.").or("16384"),
		"context.min_recent_messages":            from(0).says("The newest messages, which are shown at any cost.").or("10"),
		"context.enable_prompt_cache":            says("Marks the parts that providers may cache.").or("true"),
		"context.autocompact_threshold":          from(0).says("Tokens from which on a conversation is compacted; 0: never."),
		"context.compaction":                     says("When the summary of older messages is made; absent: background if there is a threshold."),
		"context.compaction_mode":                says("How much a compaction leaves raw.").or(`"keep_recent_raw_suffix"`),
		"context.compaction_raw_suffix_messages": from(0).says("Messages that keep_recent_raw_suffix leaves raw.").or("2"),
		"context.summary_max_tokens":             from(0).says("The size of a summary; 0 is 2048.").or("2048"),
		"context.min_savings_ratio":              within(0, 1).says("The part of the summarized messages that a summary must save, in tokens.").or("0.3"),
		"plugins":                                says("Ids of plugins, in the order in which their commands commit."),
		"active_hook_filter":                     says("Plugins whose hooks, gates and tools are active; empty: all."),
		"allowed_tools":                          says("Names of tools. Neither names nor patterns: every tool is allowed."),
		"allowed_tool_patterns":                  says("Patterns of tools: * matches any characters, \\ makes the next character literal."),
		"excluded_tools":                         says("Names of tools that are out of reach, even if they are allowed."),
		"excluded_tool_patterns":                 says("Patterns of tools that are out of reach, even if they are allowed."),
		"delegates":                              says("Ids of agents that this one may call."),
		"hidden":                                 says("The list of agents for clients omits it."),
		"exposed_tools":                          says("Names of tools of the agent that clients may call directly, through its plugins."),
		"sections":                               says("Settings of plugins, by the name of the section."),
		"strict":                                 says("A setting without effect in the spec is an error instead of a warning."),
	}
}

func modelFacts() map[string]fact {
	return map[string]fact{
		"id":                named("The name of the model, for agents and pools."),
		"provider":          says("Id of a provider."),
		"upstream_model":    says("The provider's name of the model."),
		"context_window":    from(0).says("Tokens of request and turn together; 0: not known."),
		"max_output_tokens": from(0).says("Tokens of one turn; 0: not known."),
	}
}

func poolFacts() map[string]fact {
	return map[string]fact{
		"id":                                    named("The name of the pool, in an agent's model field."),
		"members":                               says("The models of the pool; at least one of role member."),
		"members.model":                         says("Id of a model, never of a pool."),
		"members.weight":                        within(0, 1000).says("Share of the threads; 0 is 1.").or("1"),
		"members.role":                          says("When the pool uses the model.").or(`"member"`),
		"routing":                               says("How a thread's home is chosen.").or(`"deterministic"`),
		"sticky_scope":                          says("The unit that keeps its home.").or(`"thread"`),
		"switch":                                says("When a run leaves a member for another one."),
		"switch.on_circuit_open":                says("The member has failed too often recently.").or("true"),
		"switch.on_quota":                       says("It refuses for now, or its quota is used up.").or("true"),
		"switch.on_permanent":                   says("It knows no such key or model.").or("false"),
		"switch.quota_retry_after_threshold_ms": from(0).says("The shortest wait that the member must ask for, in milliseconds; 0: any."),
		"switch.max_switches":                   from(0).says("The most switches within the sticky scope; 0: no limit."),
		"return_after_ms":                       within(0, 86_400_000).says("The time after the last turn of another member until a thread is home again, in milliseconds.").or("300000"),
	}
}

func providerFacts() map[string]fact {
	return map[string]fact{
		"id":          named("The name of the provider, for models."),
		"adapter":     says("The code that speaks its protocol."),
		"base_url":    says("http or https, without query; absent: the adapter's own."),
		"api_key":     says("Never shown again."),
		"api_key_env": says("Name of the environment variable that holds the key."),
		"timeout_ms":  within(0, 900_000).says("The limit of one call, in milliseconds; 0: only the adapter's limit."),
		"options":     object("Options of the adapter."),
	}
}
