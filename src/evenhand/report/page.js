// Makes each chart live. Where this fails, or on paper, the still image stays.
for (const place of document.querySelectorAll("[data-chart]")) {
  const specification = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  vegaEmbed(place, specification, { actions: false, renderer: "svg" })
    .then(() => place.parentElement.classList.add("is-live"))
    .catch(() => place.remove());
}
