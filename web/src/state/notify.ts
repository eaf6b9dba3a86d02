/** Notifications of the browser: the question's own words, withdrawn when it ends. Never asked for without a click. */

import type { Question } from "../api.ts";
import { agentName, headline, projectName } from "../text/names.ts";
import { settings } from "./settings.svelte.ts";
import { address } from "./route.svelte.ts";

/** Shown without a service worker; kept so that they can be closed. */
const shown = new Map<string, Notification>();
/** Being shown now: a question that ends meanwhile is withdrawn afterwards. */
const showing = new Map<string, Promise<void>>();

export function canNotify(): boolean {
  return "Notification" in globalThis;
}

/** Called by a click. Returns whether notifications are on now. */
export async function turnOnNotifications(): Promise<boolean> {
  settings.notify = canNotify() && (await Notification.requestPermission()) === "granted";
  settings.save();
  return settings.notify;
}

export function announceAsked(question: Question): void {
  // A person who looks at the inbox sees it there.
  if (!document.hidden && document.hasFocus()) return;
  if (settings.sound) chime();
  if (settings.notify && canNotify() && Notification.permission === "granted") {
    const done = show(question)
      .catch(() => undefined)
      .finally(() => showing.delete(question.id));
    showing.set(question.id, done);
  }
}

async function show(question: Question): Promise<void> {
  const title = `${agentName(question.agent)} asks · ${projectName(question)}`;
  const options: NotificationOptions = {
    body: headline(question),
    tag: question.id,
    icon: "/icon-192.png",
    data: { address: address("inbox", question.id) },
  };
  const registration = await navigator.serviceWorker?.getRegistration();
  if (registration) return registration.showNotification(title, options);
  const notification = new Notification(title, options);
  shown.set(question.id, notification);
  notification.onclick = () => {
    window.focus();
    location.hash = address("inbox", question.id);
    notification.close();
  };
}

/** The question ended: a notification about it would be a lie. */
export function withdraw(id: string): void {
  void close((tag) => tag === id, [showing.get(id)]);
}

/** Of the notifications that are there, also of an earlier visit, only those of open questions stay. */
export function withdrawAllBut(open: ReadonlySet<string>): void {
  void close((tag) => tag.startsWith("que_") && !open.has(tag), [...showing.values()]);
}

async function close(isEnded: (tag: string) => boolean, first: (Promise<void> | undefined)[]): Promise<void> {
  await Promise.all(first);
  for (const [id, notification] of shown) {
    if (!isEnded(id)) continue;
    notification.close();
    shown.delete(id);
  }
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const notification of (await registration?.getNotifications()) ?? [])
    if (isEnded(notification.tag)) notification.close();
}

/** Two soft tones, made here so that nothing has to be loaded. */
function chime(): void {
  try {
    const audio = new AudioContext();
    for (const [i, frequency] of [660, 880].entries()) {
      const start = audio.currentTime + i * 0.14;
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(0.08, start);
      volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.3);
      tone.connect(volume).connect(audio.destination);
      tone.start(start);
      tone.stop(start + 0.3);
    }
    setTimeout(() => void audio.close(), 1000);
  } catch {
    // Without a click on the page browsers forbid sound; the notification is enough.
  }
}
