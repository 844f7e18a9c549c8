/**
 * Server-Sent Events over fetch with the interface of the browser's EventSource, for the client. The browser's class cannot send headers
 * and so no API key, and Node has none. This class also reconnects while the service or a proxy before it is unavailable.
 */
class Message extends Event {
    data;
    lastEventId;
    constructor(type, data, lastEventId) {
        super(type);
        this.data = data;
        this.lastEventId = lastEventId;
    }
}
const [CONNECTING, OPEN, CLOSED] = [0, 1, 2];
export class FetchEventSource extends EventTarget {
    CONNECTING = CONNECTING;
    OPEN = OPEN;
    CLOSED = CLOSED;
    readyState = CONNECTING;
    #ending = new AbortController();
    #lastEventId = '';
    #retryMs = 2_000;
    constructor(url, init) {
        super();
        void this.#follow(url, init);
    }
    close() {
        this.readyState = CLOSED;
        this.#ending.abort();
    }
    async #follow(url, { fetch }) {
        for (;;) {
            const isRefused = await this.#connect(url, fetch).catch(() => false);
            if (this.readyState === CLOSED)
                return;
            this.readyState = isRefused ? CLOSED : CONNECTING;
            this.dispatchEvent(new Event('error'));
            if (isRefused)
                return;
            await new Promise((resolve) => setTimeout(resolve, this.#retryMs));
        }
    }
    /** Reads one connection until it ends. @returns whether the request was refused, so that a retry is useless */
    async #connect(url, fetch) {
        const response = await fetch(url, {
            signal: this.#ending.signal,
            cache: 'no-store',
            headers: { accept: 'text/event-stream', ...(this.#lastEventId && { 'last-event-id': this.#lastEventId }) },
        });
        if (response.status !== 200 || !response.body)
            return response.status < 500 && response.status !== 429;
        this.readyState = OPEN;
        this.#clear();
        this.#id = this.#lastEventId;
        this.dispatchEvent(new Event('open'));
        const reader = response.body.getReader();
        const decoder = new TextDecoder();
        let rest = '';
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return false;
            // CR and LF of a line end may arrive in different chunks.
            const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
            rest = lines.pop() ?? '';
            for (const line of lines)
                this.#take(line);
        }
    }
    // The event that is being read. If the connection ends in the middle, the event and its id are dropped.
    #type = '';
    #data = [];
    #id = '';
    #take(line) {
        if (line === '') {
            this.#dispatch();
            return;
        }
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (name === 'event')
            this.#type = value;
        if (name === 'data')
            this.#data.push(value);
        if (name === 'id' && !value.includes('\0'))
            this.#id = value;
        if (name === 'retry' && /^\d+$/.test(value))
            this.#retryMs = Number(value);
    }
    #dispatch() {
        const [type, data] = [this.#type || 'message', this.#data];
        this.#clear();
        this.#lastEventId = this.#id;
        if (data.length && this.readyState === OPEN)
            this.dispatchEvent(new Message(type, data.join('\n'), this.#lastEventId));
    }
    #clear() {
        this.#type = '';
        this.#data = [];
    }
}
