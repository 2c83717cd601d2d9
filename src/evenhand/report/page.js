// Folds what is open for those without scripts; on paper everything is open.
const folded = [...document.querySelectorAll("details")];
const fold = (open) => folded.forEach((part) => { part.open = open; });
fold(false);
addEventListener("beforeprint", () => fold(true));
addEventListener("afterprint", () => fold(false));

// Marks each box that holds more than it shows, until its end is reached.
const boxes = [...document.querySelectorAll(".wide, figure")];
const mark = (box) => {
  const hidden = box.scrollWidth - box.clientWidth;
  box.classList.toggle("scrolls", hidden > 1);
  box.classList.toggle("at-end", box.scrollLeft >= hidden - 1);
};
const watch = new ResizeObserver((seen) => seen.forEach((entry) => mark(entry.target.closest(".wide, figure"))));
for (const box of boxes) {
  box.addEventListener("scroll", () => mark(box), { passive: true });
  watch.observe(box);
  [...box.children].forEach((child) => watch.observe(child));
}

// Makes each chart live. Where this fails, or on paper, the still image stays.
for (const place of document.querySelectorAll("[data-chart]")) {
  const specification = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  vegaEmbed(place, specification, { actions: false, renderer: "svg" })
    .then(() => place.parentElement.classList.add("is-live"))
    .catch(() => place.remove());
}
