// A provider on loopback that speaks OpenAI's streaming chat completions, and says what a test has it say.
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** What it answers: words; then perhaps code, as a call of the tool. `hold`: it goes on for ever. `refuse`: nothing. */
export interface Answer {
  text?: string;
  code?: string;
  language?: string;
  hold?: boolean;
  refuse?: boolean;
  /** Milliseconds before each piece of the words. */
  pause?: number;
}

export class Provider {
  readonly requests: { messages: { role: string; content: unknown }[] }[] = [];
  /** The keys that came with the requests. */
  readonly keys: string[] = [];
  private readonly answers: Answer[];
  private readonly server: http.Server;

  private constructor(answers: Answer[]) {
    this.answers = answers;
    this.server = http.createServer((request, response) => void this.serve(request, response));
  }

  /** A provider with a script; it ends after the tests of this file. */
  static async start(...answers: Answer[]): Promise<Provider> {
    const found = new Provider(answers);
    await new Promise<void>((resolve) => found.server.listen(0, "127.0.0.1", resolve));
    after(() => {
      found.server.closeAllConnections();
      found.server.close();
    });
    return found;
  }

  /** Have it say this next. */
  say(...answers: Answer[]): void {
    this.answers.push(...answers);
  }

  /** Settings with which this provider answers. */
  get settings(): Record<string, unknown> {
    return this.settingsWith({});
  }

  /** The same with more, in the shape of a profile. */
  settingsWith(more: Record<string, unknown>, key: string | null = "sk-of-a-test"): Record<string, unknown> {
    const { port } = this.server.address() as AddressInfo;
    const llm = { api_base: `http://127.0.0.1:${port}/v1`, supports_functions: true, ...(key && { api_key: key }) };
    return { "oi-lsp.model": "openai/gpt-4o", "oi-lsp.settings": { llm, ...more } };
  }

  /** What LiteLLM needs, so that it asks nobody else. */
  static readonly environment = { LITELLM_LOCAL_MODEL_COST_MAP: "True" };

  private async serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    this.keys.push(request.headers.authorization ?? "");
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    this.requests.push(JSON.parse(Buffer.concat(parts).toString()) as never);
    const answer = this.answers.shift() ?? { text: "There is nothing more in the script." };
    if (answer.refuse === true) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "No such key.", code: "invalid_api_key" } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choices: unknown[], rest = {}) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-4o", choices, ...rest })}\n\n`,
      );
    const delta = (change: unknown, finish: string | null = null) =>
      send([{ index: 0, delta: change, finish_reason: finish }]);
    delta({ role: "assistant", content: "" });
    for (const [part] of (answer.text ?? "").matchAll(/[^]{1,24}/gu)) {
      if (answer.pause !== undefined) await new Promise((resolve) => setTimeout(resolve, answer.pause));
      delta({ content: part });
    }
    if (answer.hold === true) return;
    if (answer.code !== undefined) delta({ tool_calls: [call(answer)] });
    delta({}, answer.code === undefined ? "stop" : "tool_calls");
    send([], { usage: { prompt_tokens: 1234, completion_tokens: 56, total_tokens: 1290 } });
    response.end("data: [DONE]\n\n");
  }
}

function call({ language = "python", code }: Answer): unknown {
  const args = JSON.stringify({ language, code });
  return { index: 0, id: "call_0", type: "function", function: { name: "execute", arguments: args } };
}
