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
  kind: 'person' | 'client' | 'child';
  created_at?: number;
  expires_at?: number;
  decision?: { decision_id: string; action: string; reason?: string };
}

export interface Termination {
  type: string;
  code?: string;
  detail?: string;
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
  message_id?: string;
  delta?: string;
  activity_type?: string;
  content?: JSONValue;
  id?: string;
  name?: string;
  arguments?: JSONValue;
  result?: JSONValue;
  is_error?: boolean;
  status?: string;
  ticket?: Ticket;
  action?: string;
  failed?: number;
  wait?: number;
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
  thread_id: string;
  run_id: string;
  agent_id: string;
  created_at: number;
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
