//! The footer of an Arrow IPC file.

use arrow_ipc as ipc;
use arrow_ipc::convert::metadata_to_fb;
use arrow_schema::Metadata;
use flatbuffers::FlatBufferBuilder;

use super::message::{pairs, unverified, verifier};
use super::schema::WireSchema;
use crate::error::{ErrorKind, Part, Result};
use crate::limits::Limits;

/// Starts and ends a file.
pub(crate) const MAGIC: [u8; 6] = *b"ARROW1";

/// A message's place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where its prefix starts.
    pub offset: u64,
    /// Length of prefix, flatbuffer and padding.
    pub metadata_length: u64,
    /// Length of its body.
    pub body_length: u64,
}

/// What a footer says.
pub(crate) struct Footer {
    /// The schema.
    pub schema: WireSchema,
    /// The file's own metadata.
    pub metadata: Metadata,
    /// Its DictionaryBatch messages.
    pub dictionaries: Vec<Block>,
    /// Its RecordBatch messages.
    pub batches: Vec<Block>,
}

impl Footer {
    /// Reads a footer's flatbuffer, which lies at `position` of the file.
    pub(crate) fn read(bytes: &[u8], position: u64, limits: &Limits) -> Result<Self> {
        let footer = ipc::root_as_footer_with_opts(&verifier(bytes.len(), limits), bytes)
            .map_err(|source| unverified(source, position, limits))?;
        match footer.version() {
            // V1 is what a footer that does not say has: Java's writer left it out until 0.15.
            // Every message says its own.
            ipc::MetadataVersion::V1 | ipc::MetadataVersion::V4 | ipc::MetadataVersion::V5 => {}
            ipc::MetadataVersion(version) => {
                return Err(ErrorKind::MetadataVersion { position, version }.into());
            }
        }
        let schema = footer.schema().ok_or(ErrorKind::SchemaMissing { position })?;
        let blocks = |list: Option<flatbuffers::Vector<'_, ipc::Block>>| {
            list.into_iter().flatten().map(|block| read_block(block, position)).collect::<Result<Vec<_>>>()
        };
        let mut metadata = Metadata::new();
        for (key, value) in pairs(footer.custom_metadata()) {
            metadata.insert(key, value);
        }
        Ok(Footer {
            schema: WireSchema::read(schema, limits)?,
            metadata,
            dictionaries: blocks(footer.dictionaries())?,
            batches: blocks(footer.recordBatches())?,
        })
    }

    /// All blocks by their place, and whether each is a dictionary's.
    ///
    /// Messages do not overlap: a block that is named twice would be read twice.
    pub(crate) fn blocks(&self) -> Result<Vec<(Block, bool)>> {
        let dictionaries = self.dictionaries.iter().map(|block| (*block, true));
        let mut blocks: Vec<_> =
            dictionaries.chain(self.batches.iter().map(|block| (*block, false))).collect();
        blocks.sort_by_key(|(block, _)| block.offset);
        let mut end = 0;
        for (block, _) in &blocks {
            if block.offset < end {
                let number = i64::try_from(block.offset).unwrap_or(i64::MAX);
                return Err(ErrorKind::BadNumber { part: Part::Block, position: block.offset, number }.into());
            }
            end = block.offset.saturating_add(block.metadata_length).saturating_add(block.body_length);
        }
        Ok(blocks)
    }

    /// The footer's flatbuffer.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut fbb = FlatBufferBuilder::new();
        let schema = self.schema.write(&mut fbb);
        let blocks = |list: &[Block]| list.iter().map(write_block).collect::<Result<Vec<_>>>();
        let dictionaries = fbb.create_vector(&blocks(&self.dictionaries)?);
        let batches = fbb.create_vector(&blocks(&self.batches)?);
        let metadata = (!self.metadata.is_empty()).then(|| metadata_to_fb(&mut fbb, &self.metadata));
        let mut footer = ipc::FooterBuilder::new(&mut fbb);
        footer.add_version(ipc::MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        if let Some(metadata) = metadata {
            footer.add_custom_metadata(metadata);
        }
        let root = footer.finish();
        fbb.finish(root, None);
        Ok(fbb.finished_data().to_vec())
    }
}

fn read_block(block: &ipc::Block, position: u64) -> Result<Block> {
    let checked = |number: i64| {
        u64::try_from(number).map_err(|_| ErrorKind::BadNumber { part: Part::Block, position, number })
    };
    Ok(Block {
        offset: checked(block.offset())?,
        metadata_length: checked(block.metaDataLength().into())?,
        body_length: checked(block.bodyLength())?,
    })
}

fn write_block(block: &Block) -> Result<ipc::Block> {
    let too_large = |_| ErrorKind::BadNumber { part: Part::Block, position: block.offset, number: i64::MAX };
    let offset = i64::try_from(block.offset).map_err(too_large)?;
    let metadata_length = i32::try_from(block.metadata_length).map_err(too_large)?;
    let body_length = i64::try_from(block.body_length).map_err(too_large)?;
    Ok(ipc::Block::new(offset, metadata_length, body_length))
}
