/* Makes the inbox installable and opens it when the hub is down. Answers and questions are never kept here: only the page's own files. */

const SHELL = "askd-shell";

self.addEventListener("install", (event) => event.waitUntil(fill().then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin || url.pathname.startsWith("/v1/")) return;
  event.respondWith(url.pathname.startsWith("/assets/") ? keptFirst(event.request) : hubFirst(event.request));
});

/** The page that brought us was loaded without us: keep it now, so that it opens again even if the hub is down. */
async function fill() {
  const shell = await caches.open(SHELL);
  const page = await (await fetch("/", { cache: "no-store" })).text();
  const files = [...page.matchAll(/"(\/[^"#?]+\.[a-z]+)"/g)].map(([, name]) => name);
  await shell.addAll(["/", ...files]);
}

/** Hashed names never change. */
async function keptFirst(request) {
  const shell = await caches.open(SHELL);
  const kept = await shell.match(request);
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok) await shell.put(request, fresh.clone());
  return fresh;
}

/** An upgraded hub brings its own page, so the hub is asked first; files of pages before it are dropped then. */
async function hubFirst(request) {
  const shell = await caches.open(SHELL);
  try {
    const fresh = await fetch(request);
    if (fresh.ok) {
      await shell.put(request, fresh.clone());
      if (new URL(request.url).pathname === "/") await dropOld(shell, await fresh.clone().text());
    }
    return fresh;
  } catch (error) {
    const kept = await shell.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

async function dropOld(shell, page) {
  for (const request of await shell.keys()) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/assets/") && !page.includes(pathname)) await shell.delete(request);
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = event.notification.data?.address ?? "#/inbox";
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then(async (windows) => {
      const open = windows[0];
      if (!open) return self.clients.openWindow(`/${address}`);
      await open.focus();
      return open.navigate(`/${address}`);
    }),
  );
});
