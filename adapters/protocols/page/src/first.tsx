// The first screen: who answers here, and what to try. With the scripted model each card
// shows one promise; with any other model the agent's own tools are what there is to try.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from './format';
import { Shown } from './hidden';
import { Icon } from './icons';
import { Code, Copy, oneLine } from './json';
import { agents, detail, type Agent, type AgentTool } from './lists';
import { Problem } from './problem';
import { address } from './route';
import type { JSONValue, Schema } from './types';

// local says that the host runs on the reader's machine.
const local = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);

// scripted says that the scripted model answers for an agent. A host that does not say who
// answers has it behind the agent demo.
const scripted = (a: Agent) => (a.answers ? a.answers[0]?.scripted === true : a.id === 'demo');

interface Properties {
  agent: string;
  send: (text: string) => Promise<void>;
}

export function FirstScreen({ agent, send }: Properties) {
  const [problem, setProblem] = useState<unknown>(undefined);
  const spec = agents.value?.find((a) => (agent ? a.id === agent : a.default));
  const more = spec ? detail(spec.id).value : undefined;
  const tools = more && 'tools' in more ? more.tools : [];
  if (!spec) return <p class="empty">{agents.value ? 'Send a message to start a thread.' : ''}</p>;
  const say = (text: string) => void send(text).catch(setProblem);
  const demo = spec.id === 'demo' && scripted(spec);
  return (
    <div class="first">
      <header class="first-head">
        <h2>{spec.id} is ready{local ? ' on your machine' : ''}</h2>
        <p>{local && demo ? 'It runs in this one process, and unchanged as Lambda functions on AWS.' : spec.description || 'Send a message to start a thread.'}</p>
        <p class="chips">
          <span class="chip"><Icon name="agent" /> agent {spec.id}</span>
          <ModelChip spec={spec} />
          <span class="chip"><Icon name="tool" /> {count(spec.tools.length, 'tool')}</span>
          {local && <a class="next-link" href="#/" onClick={toNext}>Next: edit functions/app/app.go <Icon name="down" /></a>}
        </p>
      </header>
      {scripted(spec) && <NoKey known={!!spec.answers} />}
      {problem !== undefined && <Problem error={problem} />}
      <section class="try-all" aria-label="Try it">
        <h2>Try it</h2>
        {demo ? <Cards say={say} together={more && 'execution_mode' in more && more.execution_mode?.startsWith('parallel')} /> : <Starters tools={tools} agent={spec.id} delegates={spec.delegates} scripted={scripted(spec)} />}
      </section>
      {local && <Next scripted={scripted(spec)} />}
    </div>
  );
}

// toNext scrolls to the last part: its address is not that of a view.
function toNext(e: Event) {
  e.preventDefault();
  document.getElementById('next')?.scrollIntoView({ block: 'start' });
  document.getElementById('next')?.focus();
}

function ModelChip({ spec }: { spec: Agent }) {
  const first = spec.answers?.[0];
  if (!first && !scripted(spec)) return null;
  const word = scripted(spec) ? 'scripted model: follows your first word' : `${first!.provider} ${first!.name}`;
  const others = (spec.answers?.length ?? 1) - 1;
  return <span class="chip"><Icon name="model" /> {word}{others > 0 && `, then ${count(others, 'other')}`}</span>;
}

const withKey = 'ANTHROPIC_API_KEY=... make run';

// NoKey says why the first word decides, and how to get a real model.
function NoKey({ known }: { known: boolean }) {
  return (
    <div class="note-info">
      <Icon name="key" />
      <p>{known && local ? 'No key is set, so the' : 'The'} <strong>first word</strong> of your message decides{known && local ? '. For a real model:' : ': the model is scripted.'}</p>
      {known && local && (
        <span class="line">
          <code>{withKey}</code>
          <Copy text={withKey} label="Copy the command"><Icon name="copy" /> Copy</Copy>
          <a href="#/models">Others</a>
        </span>
      )}
    </div>
  );
}

// Cards are what the demo's scripted model can show, the kill first.
function Cards({ say, together }: { say: (text: string) => void; together?: boolean }) {
  return (
    <div class="cards">
      <Kill say={say} />
      <Try title="A tool call" text="echo: hello" say={say} sketch={<><rect class="m" x="2%" y="6" width="22%" /><rect class="t" x="25%" y="16" width="30%" /><rect class="m" x="57%" y="26" width="36%" /></>}>
        One step calls, the next one answers.
      </Try>
      {together ? (
        <Try title="Three calls side by side" text="parallel: a, b, c" say={say} sketch={<><rect class="m" x="2%" y="2" width="22%" /><rect class="t" x="25%" y="10" width="40%" /><rect class="t" x="25%" y="20" width="24%" /><rect class="t" x="25%" y="30" width="54%" /><rect class="m" x="81%" y="2" width="16%" /></>}>
          They run together; the slowest sets the time.
        </Try>
      ) : (
        <Try title="Three calls in one step" text="parallel: a, b, c" say={say} sketch={<><rect class="m" x="2%" y="2" width="22%" /><rect class="t" x="25%" y="10" width="18%" /><rect class="t" x="44%" y="20" width="18%" /><rect class="t" x="63%" y="30" width="17%" /><rect class="m" x="81%" y="2" width="16%" /></>}>
          One answer calls three times. The step is stored when all are done.
        </Try>
      )}
      <Try title="Approve before it acts" text="approve: ship it" say={say} sketch={<><rect class="m" x="2%" y="6" width="18%" /><line class="hatch" x1="21%" x2="70%" y1="20" y2="20" /><rect class="t" x="71%" y="16" width="12%" /><rect class="m" x="84%" y="26" width="14%" /></>}>
        The run sleeps until you say yes: minutes or weeks.
      </Try>
      <Try title="Answer a question" text="ask: which colour?" say={say} sketch={<><rect class="m" x="2%" y="6" width="24%" /><line class="hatch" x1="27%" x2="66%" y1="20" y2="20" /><rect class="m" x="67%" y="26" width="30%" /></>}>
        The agent asks you; the field below becomes the answer.
      </Try>
      <Try title="A failure, run again" text="fail" say={say} sketch={<><rect class="m" x="2%" y="6" width="22%" /><rect class="x" x="25%" y="16" width="22%" /><rect class="m" x="52%" y="26" width="40%" /></>}>
        The stored steps stay. Only the failed step runs again.
      </Try>
    </div>
  );
}

interface TryProperties {
  title: string;
  text: string;
  say: (text: string) => void;
  sketch: ComponentChildren;
  children: ComponentChildren;
}

function Try({ title, text, say, sketch, children }: TryProperties) {
  return (
    <button type="button" class="try" onClick={() => say(text)}>
      <strong>{title}</strong>
      <span class="try-text">{children}</span>
      <svg class="sketch" aria-hidden="true" focusable="false">{sketch}</svg>
      <span class="says"><Icon name="send" /> {text}</span>
    </button>
  );
}

const long = 'slow: 60';

// Kill is the card that a person takes longest to believe: it has steps, and a drawing.
function Kill({ say }: { say: (text: string) => void }) {
  return (
    <div class="try big">
      <h3>Pull the plug. It resumes.</h3>
      <p class="try-text">Each step is stored before the next begins. A run outlives its process.</p>
      <ol class="story">
        <li><span>Start a long answer: <button type="button" class="says" onClick={() => say(long)}><Icon name="send" /> {long}</button></span></li>
        {local ? (
          <>
            <li><span>While it counts, end the host in your terminal: <kbd>Ctrl-C</kbd> twice, or <code>kill -9</code>.</span></li>
            <li><span>Start it again. The run resumes by itself: the step that was cut begins again, and no word is missing or doubled.</span></li>
          </>
        ) : (
          <li><span>If its worker ends, another one resumes the run: no word is missing or doubled.</span></li>
        )}
      </ol>
      <div class="proof" aria-hidden="true">
        <div class="plug">
          <span>your run</span>
          <svg class="sketch" aria-hidden="true" focusable="false"><rect class="m" x="5%" y="14" width="37%" /><rect class="void" x="42%" y="14" width="5%" /><rect class="m" x="61%" y="14" width="38%" /><line class="end" x1="47%" x2="47%" y1="0" y2="40" /></svg>
          <span>the host</span>
          <svg class="sketch" aria-hidden="true" focusable="false"><rect class="r" x="0" y="16" width="47%" /><rect class="r" x="58%" y="16" width="41%" /><line class="end" x1="47%" x2="47%" y1="0" y2="40" /></svg>
          <span />
          <span class="plug-words"><span>the process ends</span><span>the next one starts</span></span>
        </div>
        {local && <pre>{'$ make run\nmsg=listening\n'}<span class="cut">Killed</span>{'\n$ make run\nmsg="run finished" steps=1'}</pre>}
      </div>
    </div>
  );
}

// Starters are what an agent can be asked by its tools. A click writes it, to be changed
// before it is sent.
function Starters({ tools, agent, delegates, scripted }: { tools: AgentTool[]; agent: string; delegates: string[]; scripted: boolean }) {
  const some = tools.filter((t) => !t.client).slice(0, 3);
  if (!some.length) return <p class="meta">Write below what the agent should do.</p>;
  const team = `team: ${delegates.map((id) => `${id} hello`).join(' | ')}`;
  return (
    <>
      <div class="cards">
        {scripted && delegates.length > 1 && (
          <button type="button" class="try" onClick={() => write(team)}>
            <strong>Its agents, together</strong>
            <span class="try-text">One step calls them all. Each works on its own thread.</span>
            <span class="says"><Icon name="edit" /> <Shown text={oneLine(team, 48)} /></span>
          </button>
        )}
        {some.map((t) => {
          const text = scripted ? `call: ${t.name} ${JSON.stringify(example(t.parameters))}` : `Use the tool ${t.name}${t.description ? `: ${t.description}` : '.'}`;
          return (
            <button type="button" key={t.name} class="try" onClick={() => write(text)}>
              <strong><Shown text={t.name} /></strong>
              <span class="try-text" dir="auto"><Shown text={t.description ?? ''} prose /></span>
              <span class="says"><Icon name="edit" /> <Shown text={oneLine(text, 48)} /></span>
            </button>
          );
        })}
      </div>
      <p class="meta"><a href={address({ view: 'agents', agent })}>All tools of {agent}, each with a form</a></p>
    </>
  );
}

// write puts a text into the field below, as if it was typed.
function write(text: string): void {
  const field = document.querySelector<HTMLTextAreaElement>('#composer');
  if (!field) return;
  field.focus();
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

// example is a value that a schema of arguments takes, as a start.
function example(s: Schema | undefined): JSONValue {
  const type = Array.isArray(s?.type) ? s.type[0] : s?.type;
  if (s?.default !== undefined) return s.default;
  if (s?.enum?.length) return s.enum[0];
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type !== 'object') return '…';
  return Object.fromEntries((s?.required ?? []).map((name) => [name, example(s?.properties?.[name])]));
}

// tool is what can be written into functions/app/app.go before its last return.
export const tool = `type order struct {
	Number string \`json:"number"\`
}
parts.Tools = append(parts.Tools, reveille.NewTool(
	reveille.ToolSpec{Name: "find_order", Description: "Looks up an order."},
	func(_ context.Context, _ reveille.Call, o order) (string, error) {
		return "Order " + o.Number + " is on its way.", nil // your code
	}))
`;

function Next({ scripted }: { scripted: boolean }) {
  return (
    <section class="next" id="next" tabIndex={-1} aria-label="Next">
      <h2>Next: edit functions/app/app.go</h2>
      <p>Write this before <code>return parts, nil</code>, import <code>context</code>, and save. With <code>make dev</code> the host takes the new code by itself. Then send <code>{scripted ? 'call: find_order {"number":"7"}' : 'Where is order 7?'}</code>.</p>
      <Code text={tool} language="go" title="functions/app/app.go" />
    </section>
  );
}
