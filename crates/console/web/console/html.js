// What every other file draws with: `html` makes nodes, never text that is parsed as markup.
import { h, render, Fragment } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
export { render, Fragment };
export { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from 'preact/hooks';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '@preact/signals';
