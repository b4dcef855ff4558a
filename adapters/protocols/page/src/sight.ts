// What is seen: elements that scroll into view.
const looks = new WeakMap<Element, () => void>();

let watcher: IntersectionObserver | undefined;

// onSight calls back once an element is seen. It returns how to stop that.
export function onSight(e: Element, seen: () => void): () => void {
  watcher ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) {
      watcher!.unobserve(target);
      looks.get(target)?.();
    }
  });
  looks.set(e, seen);
  watcher.observe(e);
  return () => watcher!.unobserve(e);
}
