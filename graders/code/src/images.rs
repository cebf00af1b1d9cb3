//! The images in which programs run, and the choice between them.

use assay_worker::program::Limits;

use crate::language::Language;

/// An image of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) language: &'static str,
    pub(crate) name: &'static str,
    /// Modules that only this image of the language has.
    packages: &'static [&'static str],
    /// Memory that this image takes beyond that of the language's first image, in bytes. It is
    /// added to a task's limit, so that a program has the same memory in both.
    extra_memory: u64,
    /// The extra of the Python package that installs the image; `None` if the package contains it.
    package_extra: Option<&'static str>,
}

impl Image {
    /// The image of this name, of any language.
    pub(crate) fn of_name(name: &str) -> Option<&'static Self> {
        IMAGES.iter().find(|image| image.name == name)
    }

    /// Whether programs that import nothing special run in this image.
    pub(crate) fn is_default(&self) -> bool {
        self.packages.is_empty()
    }

    /// How to install the image.
    pub(crate) fn how_to_install(&self) -> String {
        let wheel = match self.package_extra {
            // Without the images there is another wheel of the same name.
            None => "assay_rewards-*-manylinux*.whl".to_owned(),
            Some(extra) => format!("assay_rewards_{extra}-*.whl"),
        };
        format!("install its wheel with `pip install {wheel}`, or build it with `make images`")
    }

    /// The limits of a task for a run in this image.
    pub(crate) fn limits(&self, limits: Limits) -> Limits {
        Limits {
            memory_bytes: limits.memory_bytes + self.extra_memory,
            ..limits
        }
    }
}

/// All images. The first one of a language is its default.
const IMAGES: &[Image] = &[
    Image {
        language: "python",
        name: "python",
        packages: &[],
        extra_memory: 0,
        package_extra: None,
    },
    Image {
        language: "python",
        name: "python-scientific",
        packages: &[
            "bitarray", "mpmath", "networkx", "numpy", "pytest", "regex", "sympy",
        ],
        extra_memory: 64 << 20,
        package_extra: Some("scientific"),
    },
    Image {
        language: "javascript",
        name: "javascript",
        packages: &[],
        extra_memory: 0,
        package_extra: None,
    },
    Image {
        language: "cpp",
        name: "cpp",
        packages: &[],
        extra_memory: 0,
        package_extra: Some("cpp"),
    },
];

/// An image that a node does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingImage {
    /// Its name.
    pub name: &'static str,
    /// How to install it.
    pub install: String,
}

/// The images that are not among those with these names.
#[must_use]
pub fn missing_images(installed: &[&str]) -> Vec<MissingImage> {
    IMAGES
        .iter()
        .filter(|image| !installed.contains(&image.name))
        .map(|image| MissingImage {
            name: image.name,
            install: image.how_to_install(),
        })
        .collect()
}

/// The images of a language, in order.
fn of(language: &Language) -> impl Iterator<Item = &'static Image> + Clone {
    let name = language.image_language;
    IMAGES.iter().filter(move |image| image.language == name)
}

/// Names of the images of a language, in order.
pub(crate) fn names(language: &Language) -> Vec<&'static str> {
    of(language).map(|image| image.name).collect()
}

/// The image of this name and language.
pub(crate) fn named(language: &Language, name: &str) -> Option<Image> {
    of(language).find(|image| image.name == name).copied()
}

/// The image whose packages one of the texts imports; by default the first of the language.
pub(crate) fn chosen<'a>(language: &Language, texts: impl IntoIterator<Item = &'a str>) -> Image {
    let mut images = of(language);
    let default = images.next().unwrap_or(&IMAGES[0]);
    let imported = texts.into_iter().flat_map(language.imports);
    let special = imported.into_iter().find_map(|module| {
        images
            .clone()
            .find(|image| image.packages.contains(&module))
    });
    *special.unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{self, Dialect};

    fn of_name(name: &str) -> Dialect {
        language::named(name).unwrap()
    }

    #[test]
    fn missing_images_can_be_installed() {
        let missing = missing_images(&["python", "javascript"]);
        assert_eq!(
            missing.iter().map(|image| image.name).collect::<Vec<_>>(),
            ["python-scientific", "cpp"]
        );
        assert!(missing[1].install.contains("assay_rewards_cpp-*.whl"));
        let all: Vec<_> = IMAGES.iter().map(|image| image.name).collect();
        assert_eq!(missing_images(&all), []);
    }

    #[test]
    fn imports_choose_the_image() {
        let name = |texts: &[&str]| chosen(&of_name("python"), texts.iter().copied()).name;
        assert_eq!(name(&[]), "python");
        assert_eq!(name(&["import sortedcontainers, math"]), "python");
        assert_eq!(name(&["import pandas"]), "python");
        assert_eq!(name(&["x = 'import numpy'"]), "python");
        assert_eq!(
            name(&["import math", "from numpy import array"]),
            "python-scientific"
        );
        let module = "import numpy";
        assert_eq!(chosen(&of_name("javascript"), [module]).name, "javascript");
    }

    #[test]
    fn images_are_named_with_their_language() {
        let python = &of_name("python");
        assert_eq!(names(python), ["python", "python-scientific"]);
        assert!(named(python, "python-scientific").is_some());
        assert!(named(python, "javascript").is_none());
        assert_eq!(names(&of_name("javascript")), ["javascript"]);
        assert_eq!(names(&of_name("typescript")), ["javascript"]);
        assert_eq!(names(&of_name("c")), ["cpp"]);
    }

    #[test]
    fn every_image_has_a_language_and_every_language_an_image() {
        for language in language::LANGUAGES {
            assert_eq!(chosen(language, []).language, language.image_language);
        }
        for image in IMAGES {
            assert!(language::named(image.language).is_some(), "{}", image.name);
        }
    }
}
