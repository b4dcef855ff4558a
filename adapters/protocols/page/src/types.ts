// What the host's native routes send, as far as the page reads it. The names are those
// of the wire.

export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

export interface Block {
  type: 'text' | 'reasoning' | 'file';
  text?: string;
  media_type?: string; // of a file, which has either data, in base64, or a url
  data?: string;
  url?: string;
  filename?: string;
  annotations?: Annotation[]; // of a text: its citations
}

// A source of a part of a text. The offsets are bytes of its UTF-8.
export interface Annotation {
  type: 'url' | 'document';
  start: number;
  end: number;
  url?: string;
  title?: string;
  quote?: string;
  document?: number;
  id?: string;
  unit?: 'page' | 'block' | 'character';
  from?: number;
  to?: number;
}

export interface Call {
  id: string;
  name: string;
  arguments: JSONValue;
}

export interface Result {
  call_id: string;
  name: string;
  data?: JSONValue;
  message?: string;
  content?: Block[]; // texts and files, after the data or message
  is_error?: boolean;
  status?: string;
}

export interface Usage {
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
  reasoning?: number;
}

export interface Message {
  id: string;
  role: 'user' | 'assistant' | 'tool';
  content?: Block[];
  tool_calls?: Call[];
  tool_result?: Result;
  run_id?: string;
  step?: number;
  usage?: Usage;
  model?: string;
  stop_reason?: string;
  created_at?: number;
  pending?: boolean;
  repair?: boolean; // of role user: the runtime says so to the model
}

export interface Ticket {
  suspension_id: string;
  tool_call_id: string;
  tool_name: string;
  arguments: JSONValue;
  action: string;
  message?: string;
  parameters?: JSONValue;
  response_schema?: Schema;
  resume_mode: 'replay_tool_call' | 'use_decision_as_tool_result' | 'pass_decision_to_tool';
  kind: 'person' | 'client' | 'child' | 'timer';
  created_at?: number;
  expires_at?: number;
  wakes_at?: number; // the call continues then without a decision
  keep?: boolean; // a message does not cancel the call
  decision?: { decision_id: string; action: string; reason?: string };
  run_id?: string; // whose call it is, where it is read with another run
}

// ChildRun names a run that a call of another run has started.
export interface ChildRun {
  run_id: string;
  thread_id: string;
  agent_id?: string; // absent: unknown
  parent_run_id: string;
  parent_call_id?: string; // absent: unknown
}

// ChildTicket is a ticket of a child run.
export type ChildTicket = Ticket & ChildRun;

// ChildProgress is what a child run does: the content of an activity of the type agent_run.
export interface ChildProgress extends ChildRun {
  status: string;
  text?: string; // the newest of its model
  tools?: string[]; // that run
  steps: number;
  usage?: Usage;
  termination?: Termination;
}

export interface Termination {
  type: string;
  code?: string;
  detail?: string;
}

// Parent is the call of another run that has started a run.
export interface Parent {
  thread_id: string;
  run_id: string;
  tool_call_id?: string;
}

export interface Run {
  run_id: string;
  thread_id: string;
  agent_id: string;
  status: 'created' | 'running' | 'waiting' | 'done';
  steps: number;
  usage?: Usage;
  response?: string;
  termination?: Termination;
  created_at: number;
  started_at?: number;
  finished_at?: number;
  tickets?: Ticket[];
  children?: { tickets?: ChildTicket[] }; // what the runs ask that it has started
  origin?: string;
  asked?: string; // how its input begins
  thread_title?: string;
  parent?: Parent;
  calls?: number; // of tools
  cost_usd?: number | null; // null: the price of a model is unknown
  waited_ms?: number; // for people and clients
  worked_ms?: number;
  takeovers?: number; // by another worker
}

// One call of a model within a step. The last one made the turn, or failed for good.
export interface Attempt {
  began_at: number;
  ended_at?: number;
  first_at?: number; // its first token
  model?: string;
  reason?: string; // why it failed
  wait_ms?: number; // until the next
}

// One call of a tool, as the timeline of a run has it.
export interface StepCall {
  id: string;
  name: string;
  arguments: JSONValue;
  status: string;
  is_error?: boolean;
  result?: JSONValue;
  message?: string;
  began_at?: number;
  ended_at?: number;
  duration_ms?: number;
  decision_id?: string;
  asked_at?: number; // it began to wait for a decision
  answered_at?: number;
  action?: string; // of the decision
  reason?: string; // of the decision
  edited?: JSONValue; // the arguments that a person put in place of the model's
  child?: { run_id: string; thread_id: string; agent_id?: string };
  wakes_at?: number; // it continues, or would have continued, without a decision
  woken?: boolean; // the time came before a decision
}

// One step of a run, from GET /v1/runs/{run}/steps.
export interface StoredStep {
  step: number;
  message_id?: string;
  began_at?: number;
  said_at?: number;
  ended_at?: number;
  open?: boolean;
  cut?: boolean; // the run ended in it
  model?: string;
  stop_reason?: string;
  usage?: Usage;
  duration_ms?: number;
  retries?: number;
  shown?: { first?: number; opening?: number; shortened?: number; summary?: number; estimate?: number; tokens?: number; refused?: boolean; limit?: number };
  text?: string;
  reasoning?: string;
  failed?: { reason: string; detail?: string; calls?: number };
  calls?: StepCall[];
  revision?: number;
  totals?: { steps: number; usage: Usage };
  queued_ms?: number; // from due to claimed
  first_at?: number; // the first token
  attempts?: Attempt[];
  takeovers?: { claimed_at?: number; lost_at: number; began_at: number }[];
}

// Who answers for a model of the specs, in the order in which they are tried.
export interface Answer {
  model: string; // its id in specs
  provider: string;
  name: string; // the provider's name of it
  scripted?: boolean;
  input_usd_per_million?: number | null;
  output_usd_per_million?: number | null;
}

// One event of a run's stream. Which fields it has depends on event_type.
export interface RunEvent {
  event_type: string;
  sequence: number;
  time?: string;
  run_id?: string;
  step?: number;
  thread_id?: string;
  agent_id?: string;
  child?: ChildRun; // the run that the event is about, if it is not the run of the stream
  message_id?: string;
  delta?: string;
  activity_type?: string;
  content?: JSONValue;
  id?: string;
  name?: string;
  arguments?: JSONValue;
  result?: JSONValue;
  blocks?: Block[]; // of a result
  block?: number; // which text of the message annotations are about
  annotations?: Annotation[];
  is_error?: boolean;
  status?: string;
  ticket?: Ticket;
  action?: string;
  decision_id?: string;
  decided_by?: { kind: string; user?: string }; // kind time is the clock
  failed?: number;
  wait?: number;
  limit?: number; // the tokens that a request may have, after the model refused a longer one
  reason?: string;
  model?: string;
  from?: string;
  usage?: Usage;
  stop_reason?: string;
  duration_ms?: number;
  patch?: JSONValue;
  revision?: number;
  snapshot?: JSONValue;
  steps?: number;
  response?: string;
  termination?: Termination;
  error?: string;
  code?: string;
}

export interface Approval extends Ticket {
  parent?: Parent; // the run of another thread that started the run
  thread_id: string;
  run_id: string;
  agent_id: string;
  created_at: number;
  thread_title?: string;
  asked?: string; // how the run's input begins
}

// The part of JSON Schema that a form is made of; the rest is edited as JSON.
export interface Schema {
  type?: string | string[];
  description?: string;
  title?: string;
  enum?: JSONValue[];
  default?: JSONValue;
  properties?: { [name: string]: Schema };
  required?: string[];
  items?: Schema;
}
