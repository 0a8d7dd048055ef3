//! The list of rules, with name and reason.

/// Makes the enum, the list of all, and their names and reasons from one table, so that none can be missing.
macro_rules! rules {
    ($($rule:ident $name:literal $reason:literal)*) => {
        /// A heuristic of an engine. It may be wrong, so it can be switched off, and what it does is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $reason] $rule,)*
        }

        impl Rule {
            pub const ALL: [Rule; [$($name),*].len()] = [$(Rule::$rule),*];

            /// As settings and the command line name it.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// Why it is there, in one sentence.
            pub fn reason(self) -> &'static str {
                match self { $(Rule::$rule => $reason,)* }
            }
        }
    };
}

rules! {
    // Reading and linking.
    Neighbours "neighbours"
        "Sources beside the headers of named ones are read for what they define, because a file alone leaves flags and functions unknown."
    SettledVariables "settled-variables"
        "A variable of a neighbour keeps its first value if no text in the folders writes it, because flags of a support folder decide branches."
    Constants "constants"
        "Variables that nothing writes and functions that always return the same are replaced by their value, so that no branch on them is followed both ways."
    Hooks "hooks"
        "A pointer to a function to which nothing else is assigned by name holds its first value, because hooks for other allocators hide the allocator."
    Carriers "carriers"
        "A global that is only read while its setter is active holds nothing afterwards, because it passes a value down and owns nothing."
    VirtualSites "virtual-sites"
        "A virtual call on an object made in the same function reaches the functions of its class, because its constructor names the class."
    // Stage one.
    LibraryContracts "library-contracts"
        "A model may speak of functions that the program defines, because libraries free through tables of functions that no summary sees through."
    Containers "containers"
        "Members of C++ containers do what the standard says, because their code hides it in templates."
    VariadicArguments "variadic-arguments"
        "What a variadic function stores or frees of its further arguments is given away, because no parameter of it shows that."
    NamedCallbacks "named-callbacks"
        "A function given by name is called by the callee that it is given to, because for_each(list, free) frees."
    FreeingLoops "freeing-loops"
        "A loop that frees every element it visits frees the collection, because where it is left at once there was nothing in it."
    CountedReferences "counted-references"
        "A list that objects leave when their last reference goes holds none of them, because the holders of references do."
    HeldElsewhere "held-elsewhere"
        "A result that memory without a name for the caller also holds is not the caller's, because that memory owns it."
    ZeroedBlocks "zeroed-blocks"
        "What calloc gives is zero until it is written, so that a field that was not filled is null."
    NoOverflow "no-overflow"
        "A sum or product that the program checks does not overflow, because sizes that large are no reason to fix a leak."
    LearnedAllocators "learned-allocators"
        "What a library function without a model gives back is its caller's, if two functions of the program free it, because no code frees what it does not own."
    LibraryDemands "library-demands"
        "A library function is given what it needs, because no program asks for a block of no bytes or for the length of nothing."
    NonnullParams "nonnull-params"
        "A parameter that no call gives null is not null, because much code asks though it need not."
    FieldAddresses "field-addresses"
        "The address of a field that a call is given is not null, because only a structure that is there has fields."
    OpaqueBlocks "opaque-blocks"
        "A block that a near callee may put into the caller's memory is followed as if it were there, because growable buffers are filled so."
    SoleResults "sole-results"
        "A result that is sometimes a fresh block is followed as one where nothing but the result ever holds it, because only the caller can free it."
    CommonOutPointers "common-out-pointers"
        "A block that most functions behind a pointer may put into the caller's variable is followed, because handlers of one table report errors alike."
    CommonResults "common-results"
        "A block that most methods behind a virtual call return is the caller's, because a caller that does not know which one it calls treats all results alike."
    SeparateCases "separate-cases"
        "Each case in which a callee hands out a block keeps its own conditions, because a condition on one does not hold for all."
    Demands "demands"
        "After a call the arguments are what the callee returns for, because check(p) ends the program where p is null."
    ChosenBlocks "chosen-blocks"
        "Results that different arguments choose are different blocks, because what holds an arena's block does not hold a plain one."
    MemoryThrows "memory-throws"
        "A throw that is reached only where an allocation failed counts as lack of memory, because it is `bad_alloc` by another name."
    LibraryChecks "library-checks"
        "A failed check of a library makes no finding of normal rank, because code calls at() within bounds."
    MisuseThrows "misuse-throws"
        "An exception of the program whose type tells of misuse, by its name, makes no finding of normal rank, because code that is right never sees it."
    UncaughtThrows "uncaught-throws"
        "An exception that no handler above takes leaves nothing behind, because it ends the program."
    RenewedBirths "renewed-births"
        "A call that renews a block which is surely there makes no new one, because realloc of a full buffer replaces it."
    ReplacedNulls "replaced-nulls"
        "A pointer that an allocation replaces where it is null is not null afterwards, because only a failed allocation leaves it so."
    Renewals "renewals"
        "Who owned a buffer that a callee frees and fills again owns the new one, because the callee replaced it."
    Counters "counters"
        "A counter beside a place that a callee filled is not zero, because the callee counts what it stores."
    FailureBySign "failure-by-sign"
        "A function that returns negative constants for failure returns none where it computes its result."
    Resets "resets"
        "Copying or filling a structure as a whole writes over the pointers in it."
    MistakenPlaces "mistaken-places"
        "A block that may be in a place that is no pointer by its declaration is not there, because a cast or a union misled."
    ConstViews "const-views"
        "A C++ function that takes a pointer to constant characters or numbers, and does not store it itself, does not keep it."
    BorrowedElements "borrowed-elements"
        "A block that may be behind a pointer which the callee did not fill is not followed, because an owner elsewhere has it."
    Questions "questions"
        "An object given to a small callee that answers with a status is a question for stage two, because the summary cannot distinguish its outcomes."
    MissedFields "missed-fields"
        "An owning field that is lost where its structure is freed is a candidate, because other code frees it."
    ClassFields "class-fields"
        "A field that a class alone owns and that its destructor leaves is a candidate, because nothing else can free what it holds."
    EmptiedMembers "emptied-members"
        "A field that a class alone owns, and that a method sets to null after using it, is a candidate, because nothing else has what it held."
    PrivateFields "private-fields"
        "A field whose contents nothing else leads to is lost where its structure is freed, unless some function frees it for good."
    ReleasedFields "released-fields"
        "A function that frees several fields of a structure ends it, though it clears them as well, so a field that nothing frees is lost there."
    EmbeddedFields "embedded-fields"
        "A part that only one structure has ends with it, so its fields are fields of that structure."
    AgreedFields "agreed-fields"
        "A field that all functions but one free with the structure is lost in that one, because the others know who owns it."
    PassedOver "passed-over-fields"
        "A field that a function leaves which frees most of the others is a candidate, because it was probably forgotten."
    NeverFreed "never-freed"
        "A structure whose fields are freed and that nothing frees is a candidate."
    LeftStructures "left-structures"
        "A structure whose fields are freed is left if its callers do not free it, because others that free these fields free it too."
    CutCallees "cut-callees"
        "A callee whose summary a bound made incomplete does not take what a field holds, if it has it by its type or may not change it."
    TypedEnds "typed-ends"
        "A callee that is given a structure by its type says itself whether it frees it, and a library does not free what is for a callback."
    DanglingFields "dangling-fields"
        "A function that frees a field and leaves it pointing there ends the structure, because nothing can use the field afterwards."
    EmptiedFields "emptied-fields"
        "A field whose contents nothing else leads to is lost where it is set to null while it is full."
    UnreleasedNulls "unreleased-nulls"
        "A field that a structure alone owns, and that a function sets to null which frees others of it, is a candidate, because the others are freed first."
    NulledFields "nulled-fields"
        "A field that is freed elsewhere is lost where a function sets it to null in a structure that its callers have found in memory."
    OverwrittenSlots "overwritten-slots"
        "An owning field that is overwritten while it holds a block is a candidate, because other code frees it first."
    AskedFields "asked-fields"
        "A field that some way to a store has found not null, or has used, may be full when it is filled again there: what others do with it decides the rank."
    UnevenSetters "uneven-setters"
        "A function that fills a field at several places, and frees it first at some of them, may lose it at the others: what others do with it decides the rank."
    AgreedSetters "agreed-setters"
        "A field that two other functions free before they set it may be full whenever it is set."
    CarelessSetters "careless-setters"
        "A function that fills a field loses what it held if most others that fill it free it first, whatever was done to the structure before."
    StoredOnce "stored-once"
        "A fresh block that a function stores once, in a field, is that field's, though the structure is in a list when the function is left."
    FilledFromBirth "filled-from-birth"
        "A field that all makers of a structure fill, and that nothing empties, is full when a function fills it in an older structure."
    UnlinkedNodes "unlinked-nodes"
        "A node that is taken out of a list and left is a candidate, because other code frees what it takes out."
    SisterFields "sister-fields"
        "A field may be full when it is set if a function of the same table, or of the same static structure, frees another before setting it."
    ConstructedFields "constructed-fields"
        "A field that every constructor fills, or that the destructor frees and an assignment sets, is full when it is set again."
    SetUpMethods "set-up-methods"
        "A field that a method fills which only constructors call was empty, because such a method is a part of them."
    NewStructures "new-structures"
        "A field of a structure that a function has from its maker was empty, because only a field that was found full is known not to be."
    WholeInitialisers "whole-initialisers"
        "A function that writes all fields of a structure and reads none gives it its first state, so its fields were empty."
    BorrowedHolders "borrowed-holders"
        "A structure behind a field that is set to a parameter may have just been made, unless all callers give one that they have found in memory."
    CountedContents "counted-contents"
        "A field whose contents a count of references was taken from is not lost when it is set, because that reference is given up."
    FillersRelease "fillers-release"
        "A field that only those functions free which fill it, and that one of them leaves full, is left to the destructor."
    AdoptedFields "adopted-fields"
        "A field that a constructor sets to its parameter owns it, if every caller gives a block that it has just made and uses for nothing else."
    TakenBefore "taken-before"
        "What a call gives back that frees its argument is not lost with an unused result, if a pointer was read from the argument before."
    NamedSettings "named-settings"
        "A field that is filled where a text equals a constant, or by a function that is registered under a name, may be full already, because input may name the same setting twice."
    RepeatedSetters "repeated-setters"
        "A field that a method fills may be full already if a caller calls the method in a loop on the same object and never empties the field."
    ClearedStructures "cleared-structures"
        "Clearing a structure loses what an owning field holds, if the function found it not null or frees other fields."
    BackLinks "back-links"
        "A node that hangs on an object and points back to it keeps nothing alive, because it lasts as long as the object."
    ChosenHolders "chosen-holders"
        "What a structure holds is known by the name of a choice as well, because cleanup at a label frees what one of several ways made."
    KnownAddresses "known-addresses"
        "An address that a field of a local variable is set to once leads there when the variable is handed on."
    ChosenAddresses "chosen-addresses"
        "What is stored through one of two addresses may be in either place, because a condition chose where it goes."
    FilledContainers "filled-containers"
        "A container that a callee is given may hold a fresh block afterwards, though nothing tells when the callee puts one in."
    UntouchedArguments "untouched-arguments"
        "An argument that a callee leaves alone when it returns is left alone as well when it throws, if no path of it to a throw takes it."
    // Both stages.
    UnaskedRelease "unasked-release"
        "A release whose status is not tested is done, because code that does not test it does not expect a refusal."
    CopiedErrors "copied-errors"
        "What is copied from errno is not zero, because only code that saw something fail copies it."
    CountedReleases "counted-releases"
        "A release that only a count of nothing prevents is done where nothing says that the count is zero, because the count belongs to the block."
    // Stage two.
    OlderResults "older-results"
        "A result that was in memory before the call is no new block, because the callee was executed and handed out what it found."
    CallersConstants "callers-constants"
        "A function is executed for the constants that all its callers give, because combinations that no caller gives are no paths."
    IndistinctOutcomes "indistinct-outcomes"
        "An outcome of a callee that leaves the object counts only if the caller can distinguish it from one that takes it."
    LeftInPlace "left-in-place"
        "An outcome of a callee that loses the object counts only if the caller can distinguish it from one that leaves it in its place."
    SoftAssertions "soft-assertions"
        "A macro that returns where its condition does not hold, and reports the text of the condition, is not left there, because it asserts what holds."
    SoleMatches "sole-matches"
        "A loop that compares a key with the entries of a table finds one of them, because no two entries that the source gives it are equal."
    Room "room"
        "What a stack was made with room for is put there without failing."
    UnaskedStatus "unasked-status"
        "A failed allocation inside a callee that returns a status counts as tested, because not asking for the status is the bug."
}

impl Rule {
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    pub(crate) fn bit(self) -> u128 {
        1 << self as u32
    }
}

/// Every rule has a bit.
const _: () = assert!(Rule::ALL.len() <= 128);
