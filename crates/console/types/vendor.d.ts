// What the page uses of the files in `web/console/vendor`, as far as its own types go.

export type Node = unknown;
export function h(...parts: unknown[]): Node;
export function render(what: Node, where: Element | null): void;
export const Fragment: unknown;

declare const htm: { bind(make: typeof h): (strings: TemplateStringsArray, ...values: unknown[]) => Node };
export default htm;

export interface Signal<T> {
  value: T;
  peek(): T;
}
export function signal<T>(first: T): Signal<T>;
export function computed<T>(work: () => T): Readonly<Signal<T>>;
export function effect(work: () => void): () => void;
export function batch<T>(work: () => T): T;
export function untracked<T>(work: () => T): T;
export function useSignal<T>(first: T): Signal<T>;
export function useComputed<T>(work: () => T): Readonly<Signal<T>>;
export function useSignalEffect(work: () => void): void;

type Next<T> = T | ((before: T) => T);
export function useState<T = any>(first: T | (() => T)): [T, (next: Next<T>) => void];
export function useState(first: null): [any, (next: any) => void];
export function useEffect(work: () => void | (() => void), by?: unknown[]): void;
export function useLayoutEffect(work: () => void | (() => void), by?: unknown[]): void;
export function useMemo<T>(work: () => T, by: unknown[]): T;
export function useCallback<T>(work: T, by: unknown[]): T;
export function useRef<T = any>(first: T): { current: T };
